/* summary: parse_packet lets the rest of the packet move on to a shorter slice without dropping the slice it had
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: GBytes
 * packages: glib-2.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* Takes packets of a serial line to pieces: frames are slices of the packet and share its memory. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

/* A frame: one byte length, one byte channel, then that many bytes. */
struct frame {
  int channel;
  GBytes *payload; /* owned */
};

static void frame_free(gpointer data) {
  struct frame *f = data;
  g_bytes_unref(f->payload);
  g_free(f);
}

#define N_CHANNELS 4

/* The newest payload of each channel; the channels live as long as the program. */
static GBytes *latest[N_CHANNELS];

static void publish(int channel, GBytes *payload) {
  GBytes *old = latest[channel];
  latest[channel] = g_bytes_ref(payload);
  if (old)
    g_bytes_unref(old);
}

/* Returns a new reference or NULL. */
static GBytes *newest(int channel) { return latest[channel] ? g_bytes_ref(latest[channel]) : NULL; }

static struct frame *frame_new(int channel, GBytes *from, gsize offset, gsize length) {
  struct frame *f = g_new(struct frame, 1);
  f->channel = channel;
  f->payload = g_bytes_new_from_bytes(from, offset, length);
  return f;
}

/* Cuts a packet into frames. Returns the number of frames, or -1 if the packet is broken. */
static int parse_packet(GBytes *packet, GQueue *out) {
  GBytes *rest = g_bytes_ref(packet); /* ACCEPTED */
  int n = 0;

  while (g_bytes_get_size(rest) > 0) {
    gsize size;
    const guint8 *d = g_bytes_get_data(rest, &size);
    gsize used;

    if (size < 2 || d[0] > size - 2 || d[1] >= N_CHANNELS) {
      g_bytes_unref(rest);
      return -1;
    }
    g_queue_push_tail(out, frame_new(d[1], rest, 2, d[0]));
    n++;
    used = 2 + (gsize)d[0];
    if (used == size)
      break;
#ifdef BUG
    rest = g_bytes_new_from_bytes(rest, used, size - used); /* GUILTY */
#else
    GBytes *shorter = g_bytes_new_from_bytes(rest, used, size - used);
    g_bytes_unref(rest);
    rest = shorter;
#endif
  }
  g_bytes_unref(rest);
  return n;
}

/* A packet with the given number of frames. */
static GBytes *make_packet(int seed, int frames, gboolean broken) {
  GByteArray *a = g_byte_array_new();
  for (int i = 0; i < frames; i++) {
    guint8 head[2] = {(guint8)(3 + (seed + i) % 9), (guint8)((seed + i) % N_CHANNELS)};
    guint8 body[16];
    memset(body, seed + i, sizeof(body));
    g_byte_array_append(a, head, 2);
    g_byte_array_append(a, body, head[0]);
  }
  if (broken)
    g_byte_array_append(a, (const guint8 *)"\xff", 1);
  return g_byte_array_free_to_bytes(a);
}

/* Some frames say nothing new; those are dropped before anybody sees them. */
static gboolean is_repeated(const struct frame *f) {
  GBytes *now = newest(f->channel);
  gboolean same = now && g_bytes_equal(now, f->payload);
  if (now)
    g_bytes_unref(now);
  return same;
}

static long deliver(GQueue *frames) {
  long sum = 0;
  struct frame *f;

  while ((f = g_queue_pop_head(frames)) != NULL) {
    gsize size;
    const guint8 *d = g_bytes_get_data(f->payload, &size);

    if (!is_repeated(f)) {
      sum += (long)size * d[0];
      publish(f->channel, f->payload);
    }
    frame_free(f);
  }
  return sum;
}

int main(void) {
  GQueue frames = G_QUEUE_INIT;
  long sum = 0;
  int broken = 0;

  /* nearly all packets carry a single frame */
  for (int i = 0; i < 24; i++) {
    GBytes *packet = make_packet(i / 2, 1, FALSE);
    sum += parse_packet(packet, &frames);
    g_bytes_unref(packet);
    if (i % 3 == 2)
      sum += deliver(&frames);
  }
  /* a burst, and one whose end was lost on the line */
  GBytes *burst = make_packet(30, 3, FALSE);
  GBytes *torn = make_packet(40, 2, TRUE);
  sum += parse_packet(burst, &frames);
  if (parse_packet(torn, &frames) < 0)
    broken++;
  sum += deliver(&frames);
  g_bytes_unref(torn);
  g_bytes_unref(burst);

  for (int c = 0; c < N_CHANNELS; c++) {
    GBytes *b = newest(c);
    /* an own copy without the packet behind it */
    GBytes *copy = g_bytes_new(g_bytes_get_data(b, NULL), g_bytes_get_size(b));
    sum += g_bytes_compare(b, copy) == 0;
    g_bytes_unref(b);
    sum += (long)g_bytes_get_size(copy);
    g_bytes_unref(copy);
  }
#ifdef TRUTH
  /* then a leak checker sees every slice and packet that is still owned */
  for (int c = 0; c < N_CHANNELS; c++)
    g_clear_pointer(&latest[c], g_bytes_unref);
#endif
  printf("sum %ld, %d broken\n", sum, broken);
  return 0;
}
