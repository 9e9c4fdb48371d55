/* summary: on_thumbnail takes the picture out of the task and returns without giving it back when the view has moved on
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: GObject
 * packages: gio-2.0
 * build: clang -O2 -g
 * exit: 0
 */
/* A picture browser: thumbnails are made in worker threads and put into the cells of the view. */
#include <gio/gio.h>
#include <stdio.h>

#define THUMB_TYPE (thumb_get_type())
G_DECLARE_FINAL_TYPE(Thumb, thumb, VIEW, THUMB, GObject)

struct _Thumb {
  GObject parent_instance;
  int index;
  guint8 *pixels;
};

G_DEFINE_TYPE(Thumb, thumb, G_TYPE_OBJECT)

static int thumbs_alive; /* atomic */

static void thumb_finalize(GObject *object) {
  g_free(VIEW_THUMB(object)->pixels);
  g_atomic_int_add(&thumbs_alive, -1);
  G_OBJECT_CLASS(thumb_parent_class)->finalize(object);
}

static void thumb_class_init(ThumbClass *klass) { G_OBJECT_CLASS(klass)->finalize = thumb_finalize; }

static void thumb_init(Thumb *self) {
  self->pixels = g_malloc0(256);
  g_atomic_int_inc(&thumbs_alive);
}

#define N_CELLS 12

#define BROWSER_TYPE (browser_get_type())
G_DECLARE_FINAL_TYPE(Browser, browser, VIEW, BROWSER, GObject)

struct _Browser {
  GObject parent_instance;
  Thumb *cells[N_CELLS]; /* owned */
  Thumb *last;           /* owned, the one shown in the status bar */
  GThreadPool *makers;
  guint generation;
  int waiting, stale, errors;
};

G_DEFINE_TYPE(Browser, browser, G_TYPE_OBJECT)

static void browser_clear(Browser *self) {
  for (int i = 0; i < N_CELLS; i++)
    g_clear_object(&self->cells[i]);
}

static void browser_dispose(GObject *object) {
  browser_clear(VIEW_BROWSER(object));
  g_clear_object(&VIEW_BROWSER(object)->last);
  G_OBJECT_CLASS(browser_parent_class)->dispose(object);
}

static void browser_class_init(BrowserClass *klass) { G_OBJECT_CLASS(klass)->dispose = browser_dispose; }

static void make_thumb(gpointer data, gpointer unused);

static void browser_init(Browser *self) {
  self->makers = g_thread_pool_new(make_thumb, NULL, 2, TRUE, NULL);
  self->generation = 1;
}

struct request {
  int index;
  guint generation;
};

/* Runs in a worker thread and owns the task. */
static void make_thumb(gpointer data, gpointer unused) {
  GTask *task = data;
  const struct request *rq = g_task_get_task_data(task);
  Thumb *t;

  if (rq->index % 11 == 10) {
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "picture %d is broken", rq->index);
    g_object_unref(task);
    return;
  }
  t = g_object_new(THUMB_TYPE, NULL);
  t->index = rq->index;
  for (int i = 0; i < 256; i++)
    t->pixels[i] = (guint8)(rq->index * i);
  g_task_return_pointer(task, t, g_object_unref);
  g_object_unref(task);
}

static void on_thumbnail(GObject *source, GAsyncResult *res, gpointer data) {
  Browser *self = VIEW_BROWSER(source);
  const struct request *rq = g_task_get_task_data(G_TASK(res));
  GError *error = NULL;
  Thumb *t = g_task_propagate_pointer(G_TASK(res), &error); /* ACCEPTED */

  self->waiting--;
  if (!t) {
    self->errors++;
    g_error_free(error);
    return;
  }
  if (rq->generation != self->generation) {
    self->stale++; /* ACCEPTED */
#ifndef BUG
    g_object_unref(t);
#endif
    return; /* GUILTY */
  }
  if (self->cells[rq->index % N_CELLS]) {
    /* an impatient user asked twice; the first one stays */
    g_object_unref(t);
    return;
  }
  g_set_object(&self->last, t);
  self->cells[rq->index % N_CELLS] = t; /* the cell has our reference now */
}

static void browser_request(Browser *self, int index) {
  GTask *task = g_task_new(self, NULL, on_thumbnail, NULL);
  struct request *rq = g_new(struct request, 1);

  rq->index = index;
  rq->generation = self->generation;
  g_task_set_task_data(task, rq, g_free);
  self->waiting++;
  g_thread_pool_push(self->makers, task, NULL); /* the worker has our reference now */
}

static void browser_scroll(Browser *self) {
  self->generation++;
  browser_clear(self);
}

static void browser_settle(Browser *self) {
  while (self->waiting > 0)
    g_main_context_iteration(NULL, TRUE);
}

/* Returns a new reference, or NULL. */
static Thumb *browser_at(Browser *self, int cell) { return self->cells[cell] ? g_object_ref(self->cells[cell]) : NULL; }

static long checksum(Browser *self) {
  long sum = 0;
  for (int i = 0; i < N_CELLS; i++) {
    g_autoptr(Thumb) t = browser_at(self, i);
    if (!t)
      continue;
    for (int k = 0; k < 256; k++)
      sum += t->pixels[k];
  }
  return sum;
}

int main(void) {
  Browser *b = g_object_new(BROWSER_TYPE, NULL);
  long sum = 0;

  for (int page = 0; page < 3; page++) {
    for (int i = 0; i < N_CELLS; i++)
      browser_request(b, page * N_CELLS + i);
    browser_request(b, page * N_CELLS + 4);
    browser_settle(b);
    sum += checksum(b);
    browser_scroll(b);
  }
  /* the user scrolls on while the pictures are still being made */
  for (int i = 0; i < 4; i++)
    browser_request(b, 45 + i);
  browser_scroll(b);
  browser_request(b, 50);
  browser_settle(b);
  sum += checksum(b);

  g_thread_pool_free(b->makers, FALSE, TRUE);
  printf("sum %ld, %d stale, %d errors\n", sum, b->stale, b->errors);
  g_object_unref(b);
#ifdef TRUTH
  printf("%d thumbnails left\n", g_atomic_int_get(&thumbs_alive));
#endif
  return 0;
}
