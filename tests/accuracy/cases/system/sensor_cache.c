/* summary: on_reply stores a recalibrated sensor's reply over the reply that the cache entry still owned
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: sd_bus_message sd_bus_slot
 * packages: libsystemd
 * build: gcc -O1 -g
 * exit: 0
 */
/* A client that keeps the newest reply of each sensor, and the daemon behind it, on the two ends of a socket pair. One
 * loop drives both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>

#define NSENSORS 16
#define NWATCH 4

struct entry {
  sd_bus_message *reply; /* owned */
  sd_bus_slot *slot;     /* owned while the call is open */
  int number;
  int value;
};

static struct entry cache[NSENSORS];
static sd_bus_message *alarms[NWATCH]; /* owned, the last ones, to the end of the process */
static unsigned alarms_at;
static int open_calls, stored, refused, unchanged;

static int on_read(sd_bus_message *m, void *data, sd_bus_error *err) {
  sd_bus_message *reply = NULL;
  int number, round, r;

  (void)data, (void)err;
  r = sd_bus_message_read(m, "ii", &number, &round);
  if (r < 0)
    return r;
  if (number % 7 == 5)
    return sd_bus_reply_method_errorf(m, "org.example.Sensor.Broken", "sensor %d", number);
  r = sd_bus_message_new_method_return(m, &reply);
  if (r < 0)
    return r;
  r = sd_bus_message_append(reply, "ib", number % 4 == 0 ? 7 : number * 10 + round, round == 1 && number % 5 == 1);
  if (r < 0) {
    sd_bus_message_unref(reply);
    return r;
  }
  r = sd_bus_send(NULL, reply, NULL);
  sd_bus_message_unref(reply);
  return r < 0 ? r : 1;
}

static int on_alarm(sd_bus_message *m, void *data, sd_bus_error *err) {
  sd_bus_message **at = &alarms[alarms_at % NWATCH];

  (void)data, (void)err;
  if (!sd_bus_message_is_signal(m, "org.example.Sensor", "Alarm"))
    return 0;
  alarms_at++;
  sd_bus_message_unref(*at);
  *at = sd_bus_message_ref(m);
  return 0;
}

/* The message belongs to the library. */
static int on_reply(sd_bus_message *m, void *data, sd_bus_error *err) {
  struct entry *e = data;
  int value, recalibrated;

  (void)err;
  open_calls--;
  e->slot = sd_bus_slot_unref(e->slot);
  if (sd_bus_message_is_method_error(m, NULL)) {
    refused++;
    e->reply = sd_bus_message_unref(e->reply);
    return 0;
  }
  if (sd_bus_message_read(m, "ib", &value, &recalibrated) < 0)
    return 0;
  if (recalibrated) {
    /* the old value is of no use even if it is the same */
#ifndef BUG
    sd_bus_message_unref(e->reply);
#endif
    e->reply = sd_bus_message_ref(m); /* GUILTY */
    e->value = value;
    stored++;
    return 0;
  }
  if (e->reply && e->value == value) {
    unchanged++;
    return 0;
  }
  sd_bus_message_unref(e->reply);
  e->reply = sd_bus_message_ref(m); /* ACCEPTED */
  e->value = value;
  stored++;
  return 0;
}

static int ask(sd_bus *bus, struct entry *e, int round) {
  sd_bus_message *call = NULL;
  int r;

  r = sd_bus_message_new_method_call(bus, &call, NULL, "/sensors", "org.example.Sensor", "Read");
  if (r < 0)
    return r;
  r = sd_bus_message_append(call, "ii", e->number, round);
  if (r >= 0)
    r = sd_bus_call_async(bus, &e->slot, call, on_reply, e, 0);
  sd_bus_message_unref(call);
  if (r >= 0)
    open_calls++;
  return r;
}

static int raise_alarm(sd_bus *bus, int number) {
  sd_bus_message *m = NULL;
  int r = sd_bus_message_new_signal(bus, &m, "/sensors", "org.example.Sensor", "Alarm");

  if (r < 0)
    return r;
  r = sd_bus_message_append(m, "i", number);
  if (r >= 0)
    r = sd_bus_send(bus, m, NULL);
  sd_bus_message_unref(m);
  return r;
}

/* A new reference, NULL for sensors that never answered. */
static sd_bus_message *cached(int number) { return sd_bus_message_ref(cache[number].reply); }

static int sum_up(void) {
  int sum = 0;

  for (int i = 0; i < NSENSORS; i++) {
    sd_bus_message *m = cached(i);
    int value;

    if (!m)
      continue;
    if (sd_bus_message_rewind(m, 1) < 0 || sd_bus_message_read(m, "i", &value) < 0) {
      sd_bus_message_unref(m);
      continue;
    }
    sum += value;
    sd_bus_message_unref(m);
  }
  return sum;
}

static int drive(sd_bus *a, sd_bus *b) {
  int x, y;

  do {
    x = sd_bus_process(a, NULL);
    y = sd_bus_process(b, NULL);
    if (x < 0 || y < 0)
      return -1;
  } while (x > 0 || y > 0 || open_calls > 0);
  return 0;
}

static int open_pair(sd_bus **client, sd_bus **daemon) {
  sd_id128_t id = SD_ID128_MAKE(4e, 16, 5c, 02, 4b, 11, 4d, 52, 9f, 83, 20, 6b, 5e, 0a, 7c, 31);
  int fds[2];

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
    return -1;
  if (sd_bus_new(client) < 0 || sd_bus_new(daemon) < 0)
    return -1;
  if (sd_bus_set_fd(*client, fds[0], fds[0]) < 0 || sd_bus_set_fd(*daemon, fds[1], fds[1]) < 0 ||
      sd_bus_set_server(*daemon, 1, id) < 0)
    return -1;
  if (sd_bus_start(*daemon) < 0 || sd_bus_start(*client) < 0)
    return -1;
  return 0;
}

int main(void) {
  sd_bus *client = NULL, *daemon = NULL;
  sd_bus_slot *object = NULL;
  int sum;

  if (open_pair(&client, &daemon) < 0)
    return 1;
  if (sd_bus_add_object(daemon, &object, "/sensors", on_read, NULL) < 0)
    return 1;
  if (sd_bus_add_filter(client, NULL, on_alarm, NULL) < 0) /* stays as long as the bus */
    return 1;
  for (int i = 0; i < NSENSORS; i++)
    cache[i].number = i;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < NSENSORS; i++)
      if (ask(client, &cache[i], round) < 0)
        return 1;
    for (int i = 0; i < 2; i++)
      raise_alarm(daemon, round * 2 + i);
    if (drive(client, daemon) < 0)
      return 1;
  }
  sum = sum_up();
  for (int i = 0; i < NSENSORS; i++)
    sd_bus_message_unref(cache[i].reply);
  sd_bus_slot_unref(object);
  sd_bus_flush_close_unref(client);
  sd_bus_flush_close_unref(daemon);
  printf("stored %d refused %d unchanged %d alarms %u sum %d\n", stored, refused, unchanged, alarms_at, sum);
  return 0;
}
