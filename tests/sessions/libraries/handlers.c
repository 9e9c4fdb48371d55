// Objects of GLib's with handlers of signals: some are lost, some are held by what a handler was given.
#include <glib-object.h>

static void on_change(GObject *object, GParamSpec *property, gpointer data) {
  (void)object;
  (void)property;
  (void)data;
}

static void give_back(gpointer object, GClosure *closure) {
  (void)closure;
  g_object_unref(object);
}

static GObject *made(void) {
  GObject *object = g_object_new(G_TYPE_OBJECT, NULL);
  g_signal_connect(object, "notify", G_CALLBACK(on_change), NULL);
  return object;
}

static void lose(int times) {
  for (int i = 0; i < times; i++) made();
}

static GObject *kept;  // its handlers' closures hold the others

static void keep(int times) {
  kept = g_object_new(G_TYPE_OBJECT, NULL);
  for (int i = 0; i < times; i++) {
    GObject *object = made();
    g_signal_connect_data(kept, "notify", G_CALLBACK(on_change), object, give_back, 0);
  }
}

static void release(int times) {
  for (int i = 0; i < times; i++) {
    GObject *object = made();
    g_signal_handlers_disconnect_by_func(object, (gpointer)on_change, NULL);
    g_object_unref(object);
  }
}

/// What their own handlers' closures hold.
static void tie(int times) {
  for (int i = 0; i < times; i++) {
    GObject *object = made();
    g_signal_connect_data(object, "notify", G_CALLBACK(on_change), g_object_ref(object), give_back, 0);
    g_object_unref(object);
  }
}

static int clear_stack(void) {
  volatile char bytes[20000];
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = 1;
  return bytes[5];
}

int main(int argc, char **argv) {
  const gboolean ties = argc > 1 && g_strcmp0(argv[1], "tie") == 0;
  release(5);
  keep(6);
  if (ties) tie(4);
  if (argc > 1 && !ties) lose(3);
  return clear_stack() == 1 ? 0 : 1;
}
