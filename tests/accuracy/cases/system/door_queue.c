/* summary: cancel answers a waiting call and takes it out of its door's queue, but not out of the caller's list
 * kind: held
 * counts: surplus
 * objects: 3
 * track: sd_bus_message
 * packages: libsystemd
 * build: clang-14 -O0 -g
 * exit: 0
 */
/* A door controller that answers later: a call to open a door waits in the door's queue and in the list of its caller
 * until somebody opens the door. Both hold a reference. Caller and controller are on the two ends of a socket pair. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>

#define NDOORS 5
#define NCALLERS 3
#define MAX_WAITING 32

struct waiting {
  sd_bus_message *calls[MAX_WAITING]; /* owned */
  int n;
};

static struct waiting doors[NDOORS], callers[NCALLERS];
static int answered, opened, cancelled, turned_away, finished, failed;

static int add(struct waiting *w, sd_bus_message *call) {
  if (w->n == MAX_WAITING)
    return -1;
  w->calls[w->n++] = sd_bus_message_ref(call);
  return 0;
}

/* Gives back the reference that the queue had. */
static int del(struct waiting *w, sd_bus_message *call) {
  for (int i = 0; i < w->n; i++)
    if (w->calls[i] == call) {
      memmove(w->calls + i, w->calls + i + 1, (size_t)(--w->n - i) * sizeof(w->calls[0]));
      sd_bus_message_unref(call);
      return 0;
    }
  return -1;
}

/* The queue's reference goes to the caller of this function. */
static sd_bus_message *take_first(struct waiting *w) {
  sd_bus_message *call;

  if (w->n == 0)
    return NULL;
  call = w->calls[0];
  memmove(w->calls, w->calls + 1, (size_t)--w->n * sizeof(w->calls[0]));
  return call;
}

static void arguments(sd_bus_message *call, int *door, int *caller) {
  *door = *caller = 0;
  sd_bus_message_rewind(call, 1);
  if (sd_bus_message_read(call, "ii", door, caller) < 0)
    *door = *caller = -1;
}

static void open_door(int door) {
  sd_bus_message *call;

  while ((call = take_first(&doors[door]))) {
    int d, c;

    arguments(call, &d, &c);
    sd_bus_reply_method_return(call, "s", "open");
    del(&callers[c], call);
    sd_bus_message_unref(call);
    opened++;
  }
}

/* Only the first one, who holds the card. */
static void let_one_in(int door) {
  sd_bus_message *call = take_first(&doors[door]);
  int d, c;

  if (!call)
    return;
  arguments(call, &d, &c);
  del(&callers[c], call);
  sd_bus_reply_method_return(call, "s", "one");
  sd_bus_message_unref(call);
  opened++;
}

/* The caller has asked us to forget his newest call for a door. */
static int cancel(int caller, int door) {
  struct waiting *w = &callers[caller];

  for (int i = w->n - 1; i >= 0; i--) {
    sd_bus_message *call = w->calls[i];
    int d, c;

    arguments(call, &d, &c);
    if (d != door)
      continue;
    sd_bus_reply_method_errorf(call, "org.example.Door.Cancelled", "door %d", door);
    del(&doors[door], call); /* ACCEPTED */
#ifndef BUG
    del(w, call);
#endif
    cancelled++;
    return 1; /* GUILTY */
  }
  return 0;
}

/* The caller leaves; all his calls go. */
static void forget(int caller) {
  sd_bus_message *call;

  while ((call = take_first(&callers[caller]))) {
    int d, c;

    arguments(call, &d, &c);
    if (del(&doors[d], call) == 0)
      sd_bus_reply_method_errorf(call, "org.example.Door.Gone", "caller %d", caller);
    sd_bus_message_unref(call);
  }
}

static int on_open(sd_bus_message *m, void *data, sd_bus_error *err) {
  int door, caller;

  (void)data, (void)err;
  if (!sd_bus_message_is_method_call(m, "org.example.Door", "Open"))
    return 0;
  arguments(m, &door, &caller);
  if (door < 0 || door >= NDOORS || caller < 0 || caller >= NCALLERS) {
    turned_away++;
    return sd_bus_reply_method_errorf(m, "org.example.Door.Unknown", "door %d", door);
  }
  if (add(&doors[door], m) < 0)
    return -1;
  if (add(&callers[caller], m) < 0) {
    del(&doors[door], m);
    return -1;
  }
  return 1;
}

static int on_answer(sd_bus_message *m, void *data, sd_bus_error *err) {
  (void)data, (void)err;
  finished++;
  if (sd_bus_message_is_method_error(m, NULL))
    failed++;
  else
    answered++;
  return 0;
}

static int ask(sd_bus *bus, int door, int caller) {
  sd_bus_message *call = NULL;
  int r = sd_bus_message_new_method_call(bus, &call, NULL, "/doors", "org.example.Door", "Open");

  if (r < 0)
    return r;
  r = sd_bus_message_append(call, "ii", door, caller);
  if (r < 0) {
    sd_bus_message_unref(call);
    return r;
  }
  r = sd_bus_call_async(bus, NULL, call, on_answer, NULL, 0); /* the slot floats */
  sd_bus_message_unref(call);
  return r;
}

static int drive(sd_bus *a, sd_bus *b) {
  for (int idle = 0; idle < 4;) {
    int x = sd_bus_process(a, NULL), y = sd_bus_process(b, NULL);

    if (x < 0 || y < 0)
      return -1;
    idle = x > 0 || y > 0 ? 0 : idle + 1;
  }
  return 0;
}

static int open_pair(sd_bus **client, sd_bus **controller) {
  sd_id128_t id = SD_ID128_MAKE(d0, 0a, 35, 10, 4b, 11, 4d, 52, 9f, 83, 20, 6b, 5e, 0a, 7c, 44);
  int fds[2];

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
    return -1;
  if (sd_bus_new(client) < 0 || sd_bus_new(controller) < 0 || sd_bus_set_fd(*client, fds[0], fds[0]) < 0 ||
      sd_bus_set_fd(*controller, fds[1], fds[1]) < 0 || sd_bus_set_server(*controller, 1, id) < 0)
    return -1;
  return sd_bus_start(*controller) < 0 || sd_bus_start(*client) < 0 ? -1 : 0;
}

int main(void) {
  sd_bus *client = NULL, *controller = NULL;

  if (open_pair(&client, &controller) < 0 || sd_bus_add_object(controller, NULL, "/doors", on_open, NULL) < 0)
    return 1;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 12; i++)
      if (ask(client, i == 7 ? 99 : i % NDOORS, i % 2) < 0)
        return 1;
    if (drive(client, controller) < 0)
      return 1;
    let_one_in(2);
    if (round == 1) {
      cancel(0, 4);
      cancel(0, 3);
      cancel(1, 0);
      cancel(2, 0); /* has none */
    }
    for (int d = 0; d < NDOORS; d++)
      open_door(d);
    if (drive(client, controller) < 0)
      return 1;
  }
  for (int i = 0; i < 3; i++)
    ask(client, i, 2);
  drive(client, controller);
  forget(2);
  ask(client, 1, 2); /* nobody opens this one, it waits to the end */
  ask(client, 3, 2);
  drive(client, controller);
  printf("opened %d cancelled %d turned away %d finished %d/%d failed %d\n", opened, cancelled, turned_away, answered,
         finished, failed);
#ifdef TRUTH
  forget(2);
  printf("callers' lists %d %d\n", callers[0].n, callers[1].n);
#endif
  sd_bus_flush_close_unref(client);
  sd_bus_flush_close_unref(controller);
  return 0;
}
