/* summary: on_expiry gives back the source it is called with when a lease has used up its renewals, but the lease owns it
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: sd_event sd_event_source
 * packages: libsystemd
 * build: gcc -O2 -g
 * exit: 0
 */
/* Leases with a timer each. Some end, some are renewed, some are given up by hand; notices are one-shot sources that
 * the loop owns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <time.h>

#define NLEASES 24
#define MAX_RENEWALS 3

enum state { FREE, BOUND, OVER };

struct lease {
  int number;
  enum state state;
  int renewals;
  int wanted;             /* so many renewals */
  sd_event_source *timer; /* owned */
};

struct notice {
  int number;
  int *counter;
};

static struct lease leases[NLEASES];
static sd_event_source *keeper; /* owned, to the end of the process */
static int expired, renewed, given_up, exhausted, notices, destroyed, ticks;

static void notice_free(void *data) {
  destroyed++;
  free(data);
}

static int on_notice(sd_event_source *s, void *data) {
  struct notice *n = data;

  (*n->counter)++;
  if (n->number % 2) /* keep it for another moment */
    sd_event_source_ref(s);
  sd_event_source_set_floating(s, 0); /* the loop lets go */
  if (n->number % 2)
    sd_event_source_unref(s);
  return 0;
}

/* The loop owns the source; it goes when it has been called. */
static int post_notice(sd_event *e, int number) {
  struct notice *n = malloc(sizeof(*n));
  sd_event_source *s = NULL;
  int r;

  if (!n)
    return -ENOMEM;
  n->number = number;
  n->counter = &notices;
  r = sd_event_add_defer(e, &s, on_notice, n);
  if (r < 0) {
    free(n);
    return r;
  }
  sd_event_source_set_destroy_callback(s, notice_free);
  r = sd_event_source_set_floating(s, 1); /* the loop's own reference */
  sd_event_source_unref(s);
  return r;
}

static void end_lease(struct lease *l) {
  l->state = OVER;
  l->timer = sd_event_source_disable_unref(l->timer);
}

static int on_expiry(sd_event_source *s, uint64_t usec, void *data) {
  struct lease *l = data;

  (void)usec;
  if (l->renewals < l->wanted) {
    if (l->renewals == MAX_RENEWALS) {
      exhausted++;
      l->state = OVER;
      sd_event_source_set_enabled(s, SD_EVENT_OFF);
#ifdef BUG
      sd_event_source_unref(s); /* GUILTY */
#endif
      return 0; /* the timer goes with the table */
    }
    l->renewals++;
    renewed++;
    if (sd_event_source_set_time(s, 1) < 0)
      return -EIO;
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
  }
  expired++;
  if (l->number % 4 == 0)
    post_notice(sd_event_source_get_event(s), l->number);
  end_lease(l);
  return 0;
}

static int on_tick(sd_event_source *s, void *data) {
  (void)s, (void)data;
  ticks++;
  return 0;
}

static int bind_lease(sd_event *e, int number, int wanted) {
  struct lease *l = &leases[number];
  sd_event_source *timer = NULL;
  int r;

  if (l->state == BOUND)
    return -EBUSY;
  r = sd_event_add_time(e, &timer, CLOCK_MONOTONIC, 1, 1, on_expiry, l);
  if (r < 0)
    return r;
  if (wanted < 0) { /* nonsense */
    sd_event_source_unref(timer);
    return -EINVAL;
  }
  sd_event_source_unref(l->timer);
  l->timer = timer;
  l->number = number;
  l->state = BOUND;
  l->renewals = 0;
  l->wanted = wanted;
  return 0;
}

static void give_up(int number) {
  struct lease *l = &leases[number];
  sd_event_source *s = sd_event_source_ref(l->timer);

  end_lease(l);
  given_up++;
  if (sd_event_source_get_userdata(s) == l)
    sd_event_source_set_userdata(s, NULL);
  sd_event_source_unref(s);
}

static int run(sd_event *e) {
  int r;

  do
    r = sd_event_run(e, 0);
  while (r > 0);
  return r;
}

static void clear_table(void) {
  for (int i = 0; i < NLEASES; i++)
    leases[i].timer = sd_event_source_unref(leases[i].timer);
}

int main(void) {
  sd_event *e = NULL;
  int refused = 0;

  if (sd_event_new(&e) < 0)
    return 1;
  if (sd_event_add_post(e, &keeper, on_tick, NULL) < 0)
    return 1;
  for (int i = 0; i < NLEASES; i++)
    refused += bind_lease(e, i, i == 6 ? -1 : i % 3) < 0;
  refused += bind_lease(e, 3, 1) < 0;
  give_up(8);
  give_up(17);
  if (run(e) < 0)
    return 1;
  for (int i = 1; i < NLEASES; i += 3) /* the same places again */
    refused += bind_lease(e, i, i == 13 ? 0 : 2) < 0;
  if (run(e) < 0)
    return 1;
  bind_lease(e, 11, 9);
  bind_lease(e, 20, 5);
  if (run(e) < 0)
    return 1;
  printf("expired %d renewed %d given up %d exhausted %d notices %d/%d refused %d%s\n", expired, renewed, given_up,
         exhausted, notices, destroyed, refused, ticks > 0 ? "" : " no ticks");
  clear_table();
  sd_event_unref(e);
  return 0;
}
