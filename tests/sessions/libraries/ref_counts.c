// Gets and puts are inlined, and GLib's functions change their counter.
#include <glib.h>
#include <stdio.h>

#define INLINED static inline __attribute__((always_inline))
#define APART __attribute__((noinline))
#define ROUNDS 12

struct track {
  char *title;
  gatomicrefcount refs;
  int plays;
};

INLINED struct track *track_ref(struct track *track) {
  g_atomic_ref_count_inc(&track->refs);
  return track;
}
INLINED void track_unref(struct track *track) {
  if (!g_atomic_ref_count_dec(&track->refs)) return;
  g_free(track->title);
  g_free(track);
}
APART static struct track *track_new(int number) {
  struct track *track = g_new0(struct track, 1);
  track->title = g_strdup_printf("track %d", number);
  g_atomic_ref_count_init(&track->refs);
  return track;
}

APART static void play(struct track *track) {
  struct track *playing = track_ref(track);
  playing->plays++;
  track_unref(playing);
}

int main(int argc, char **argv) {
  (void)argv;
  for (int i = 0; i < ROUNDS; i++) {
    struct track *track = track_new(i);
    play(track);
    if (argc > 1 && i == 7) continue;
    track_unref(track);
  }
  puts("played");
  return 0;
}
