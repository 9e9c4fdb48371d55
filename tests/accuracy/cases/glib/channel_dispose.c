/* summary: channel_dispose drops the transport and the peer but forgets the codec of the channel
 * kind: missing-put
 * counts: surplus
 * objects: 5
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O1 -g
 * exit: 0
 */
/* Voice channels: each has a transport and perhaps an own codec; the switchboard has back pointers only. */
#include <glib-object.h>
#include <stdio.h>

#define PART_TYPE (part_get_type())
G_DECLARE_FINAL_TYPE(Part, part, VOICE, PART, GObject)

/* a transport or a codec */
struct _Part {
  GObject parent_instance;
  char *label;
  int rate;
};

G_DEFINE_TYPE(Part, part, G_TYPE_OBJECT)

static int parts_alive;

static void part_finalize(GObject *object) {
  g_free(VOICE_PART(object)->label);
  parts_alive--;
  G_OBJECT_CLASS(part_parent_class)->finalize(object);
}

static void part_class_init(PartClass *klass) { G_OBJECT_CLASS(klass)->finalize = part_finalize; }

static void part_init(Part *self) {
  self->rate = 8000;
  parts_alive++;
}

static Part *part_new(const char *label, int rate) {
  Part *p = g_object_new(PART_TYPE, NULL);
  p->label = g_strdup(label);
  p->rate = rate;
  return p;
}

#define CHANNEL_TYPE (channel_get_type())
G_DECLARE_FINAL_TYPE(Channel, channel, VOICE, CHANNEL, GObject)

struct _Channel {
  GObject parent_instance;
  Part *transport; /* owned */
  Part *codec;     /* owned, NULL means the plain default */
  Channel *peer;   /* owned from caller to callee, weak the other way round */
  gboolean caller;
  int number;
};

G_DEFINE_TYPE(Channel, channel, G_TYPE_OBJECT)

static void peer_gone(gpointer data, GObject *where_it_was) {
  Channel *self = data;
  g_assert(self->peer == (Channel *)where_it_was);
  self->peer = NULL;
}

static void channel_unlink(Channel *self) {
  if (!self->peer)
    return;
  if (self->caller) {
    Channel *callee = g_steal_pointer(&self->peer);
    if (callee->peer == self) {
      g_object_weak_unref(G_OBJECT(self), peer_gone, callee);
      callee->peer = NULL;
    }
    g_object_unref(callee);
  } else {
    g_object_weak_unref(G_OBJECT(self->peer), peer_gone, self);
    self->peer = NULL;
  }
}

static void channel_dispose(GObject *object) {
  Channel *self = VOICE_CHANNEL(object);
  channel_unlink(self);
  g_clear_object(&self->transport); /* ACCEPTED */
#ifndef BUG
  g_clear_object(&self->codec);
#endif
  G_OBJECT_CLASS(channel_parent_class)->dispose(object); /* GUILTY */
} /* ACCEPTED */

static void channel_class_init(ChannelClass *klass) { G_OBJECT_CLASS(klass)->dispose = channel_dispose; }

static void channel_init(Channel *self) { self->number = -1; }

/* Keeps its own reference to the transport. */
static Channel *channel_new(int number, Part *transport) {
  Channel *c = g_object_new(CHANNEL_TYPE, NULL);
  c->number = number;
  c->transport = g_object_ref(transport);
  return c;
}

/* Steals the codec; NULL goes back to the default. */
static void channel_take_codec(Channel *c, Part *codec) {
  if (c->codec)
    g_object_unref(c->codec);
  c->codec = codec;
}

static void channel_call(Channel *caller, Channel *callee) {
  channel_unlink(caller);
  caller->caller = TRUE;
  caller->peer = g_object_ref(callee);
  callee->peer = caller;
  g_object_weak_ref(G_OBJECT(caller), peer_gone, callee);
}

/* The switchboard: number -> channel, back pointers that are cleared by a weak notify. */
static GHashTable *board;

static void board_forget(gpointer data, GObject *where_it_was) {
  g_assert(g_hash_table_lookup(board, data) == (gpointer)where_it_was);
  g_hash_table_remove(board, data);
}

static void board_enter(Channel *c) {
  g_hash_table_insert(board, GINT_TO_POINTER(c->number), c);
  g_object_weak_ref(G_OBJECT(c), board_forget, GINT_TO_POINTER(c->number));
}

static Channel *board_find(int number) {
  Channel *c = g_hash_table_lookup(board, GINT_TO_POINTER(number));
  return c ? g_object_ref(c) : NULL;
}

/* Wants another codec for the time of the call; goes back to the default before the end. */
static void negotiate(Channel *c, int rate) {
  Part *wanted = part_new("opus", rate);
  if (wanted->rate < 12000) {
    g_object_unref(wanted);
    return;
  }
  channel_take_codec(c, wanted);
}

int main(void) {
  GQueue calls = G_QUEUE_INIT;
  int talked = 0;

  board = g_hash_table_new(NULL, NULL);
  Part *trunk = part_new("trunk", 64000);
  for (int i = 0; i < 20; i++) {
    Part *line = i % 3 ? part_new("line", 8000) : g_object_ref(trunk);
    Channel *c = channel_new(i, line);
    g_object_unref(line);
    board_enter(c);
    g_queue_push_tail(&calls, c);
  }
  for (int i = 0; i + 1 < 20; i += 2) {
    Channel *a = board_find(i), *b = board_find(i + 1);
    channel_call(a, b);
    negotiate(a, 4000 + 1000 * i);
    if (i == 12)
      negotiate(a, 48000); /* renegotiated in the middle of the call */
    talked += a->peer->number;
    g_object_unref(a);
    g_object_unref(b);
  }
  /* one of them goes back to the default at once */
  Channel *quiet = board_find(16);
  channel_take_codec(quiet, NULL);
  g_object_unref(quiet);

  g_assert(board_find(77) == NULL);
  for (Channel *c; (c = g_queue_pop_head(&calls)) != NULL;) {
    talked += c->codec ? c->codec->rate / 1000 : 8;
    g_object_unref(c);
  }
  g_object_unref(trunk);
#ifdef TRUTH
  printf("%d parts left\n", parts_alive);
#endif
  printf("talked %d, board has %u\n", talked, g_hash_table_size(board));
  g_hash_table_unref(board);
  return 0;
}
