/* summary: collect returns for a reply with the wrong signature without giving the stolen reply back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: dbus
 * packages: dbus-1
 * build: gcc -O2 -g
 * exit: 0
 */
/* Asks a number of meters for their values over a private D-Bus connection. The meters' side lives in the same
 * process, behind a server of its own. */
#include <dbus/dbus.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NMETERS 24
#define MAX_WATCHES 4

struct meter {
  DBusPendingCall *pending; /* owned */
  DBusMessage *last;        /* owned, the last good reply */
  dbus_int32_t value;
};

static struct meter meters[NMETERS];
static DBusMessage *first_error; /* owned, kept to the end for the report */
static DBusConnection *peer;     /* owned, the meters' end */
static DBusWatch *watches[MAX_WATCHES];
static int good, errors, odd, late, noise;

static dbus_bool_t add_watch(DBusWatch *w, void *data) {
  (void)data;
  for (int i = 0; i < MAX_WATCHES; i++)
    if (!watches[i]) {
      watches[i] = w;
      return TRUE;
    }
  return FALSE;
}

static void remove_watch(DBusWatch *w, void *data) {
  (void)data;
  for (int i = 0; i < MAX_WATCHES; i++)
    if (watches[i] == w)
      watches[i] = NULL;
}

/* The answer for a meter; the caller owns it. */
static DBusMessage *answer(DBusMessage *call, dbus_int32_t number) {
  DBusMessage *reply;
  const char *text = "not calibrated";
  dbus_int32_t value = number * 100;

  if (number % 9 == 4)
    return dbus_message_new_error(call, "org.example.Meter.Offline", "no answer from the wire");
  reply = dbus_message_new_method_return(call);
  if (number % 8 == 3)
    dbus_message_append_args(reply, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
  else
    dbus_message_append_args(reply, DBUS_TYPE_INT32, &value, DBUS_TYPE_INVALID);
  return reply;
}

static DBusHandlerResult on_call(DBusConnection *c, DBusMessage *m, void *data) {
  DBusMessage *reply;
  dbus_int32_t number;

  (void)data;
  if (!dbus_message_is_method_call(m, "org.example.Meter", "Read"))
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
  if (!dbus_message_get_args(m, NULL, DBUS_TYPE_INT32, &number, DBUS_TYPE_INVALID)) {
    reply = dbus_message_new_error(m, DBUS_ERROR_INVALID_ARGS, "a number please");
    dbus_connection_send(c, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
  }
  if (number % 5 == 0) {
    DBusMessage *tick = dbus_message_new_signal("/meters", "org.example.Meter", "Tick");

    dbus_connection_send(c, tick, NULL);
    dbus_message_unref(tick);
  }
  reply = answer(m, number);
  dbus_connection_send(c, reply, NULL);
  dbus_message_unref(reply);
  return DBUS_HANDLER_RESULT_HANDLED;
}

static DBusHandlerResult on_tick(DBusConnection *c, DBusMessage *m, void *data) {
  (void)c, (void)data;
  if (!dbus_message_is_signal(m, "org.example.Meter", "Tick"))
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
  noise++;
  return DBUS_HANDLER_RESULT_HANDLED;
}

static void on_connection(DBusServer *s, DBusConnection *c, void *data) {
  (void)s, (void)data;
  peer = dbus_connection_ref(c);
  dbus_connection_add_filter(c, on_call, NULL, NULL);
}

/* Takes the pending call over; it must be complete. */
static void collect(struct meter *m, DBusPendingCall *pending) {
  DBusMessage *reply = dbus_pending_call_steal_reply(pending); /* ACCEPTED */
  dbus_int32_t value;

  dbus_pending_call_unref(pending);
  if (!reply) {
    late++;
    return;
  }
  if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR) {
    errors++;
    if (!first_error)
      first_error = dbus_message_ref(reply);
    dbus_message_unref(reply);
    return;
  }
  if (!dbus_message_has_signature(reply, DBUS_TYPE_INT32_AS_STRING)) {
    odd++; /* ACCEPTED */
#ifndef BUG
    dbus_message_unref(reply);
#endif
    return; /* GUILTY */
  }
  if (!dbus_message_get_args(reply, NULL, DBUS_TYPE_INT32, &value, DBUS_TYPE_INVALID)) {
    dbus_message_unref(reply);
    return;
  }
  good++;
  m->value = value;
  if (m->last)
    dbus_message_unref(m->last);
  m->last = reply;
}

static void ask(DBusConnection *c, int number, int broken) {
  DBusMessage *call = dbus_message_new_method_call(NULL, "/meters", "org.example.Meter", "Read");
  dbus_int32_t n = number;
  const char *text = "x";

  if (broken)
    dbus_message_append_args(call, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
  else
    dbus_message_append_args(call, DBUS_TYPE_INT32, &n, DBUS_TYPE_INVALID);
  if (!dbus_connection_send_with_reply(c, call, &meters[number].pending, 5000))
    meters[number].pending = NULL;
  dbus_message_unref(call);
}

static int step(DBusConnection *c) {
  int open = 0;

  for (int i = 0; i < MAX_WATCHES; i++) {
    struct pollfd p = {.events = POLLIN};

    if (!watches[i] || !dbus_watch_get_enabled(watches[i]))
      continue;
    p.fd = dbus_watch_get_unix_fd(watches[i]);
    if (poll(&p, 1, 0) > 0)
      dbus_watch_handle(watches[i], DBUS_WATCH_READABLE);
  }
  if (peer)
    dbus_connection_read_write_dispatch(peer, 0);
  dbus_connection_read_write_dispatch(c, 0);
  for (int i = 0; i < NMETERS; i++) {
    DBusPendingCall *pending = meters[i].pending;

    if (pending && dbus_pending_call_get_completed(pending)) {
      meters[i].pending = NULL;
      collect(&meters[i], pending);
    }
    open += meters[i].pending != NULL;
  }
  return open;
}

int main(void) {
  DBusServer *server;
  DBusConnection *c;
  char where[64], *address;
  long sum = 0;

  snprintf(where, sizeof(where), "unix:abstract=meter-poll-%ld", (long)getpid());
  server = dbus_server_listen(where, NULL);
  if (!server)
    return 1;
  dbus_server_set_new_connection_function(server, on_connection, NULL, NULL);
  dbus_server_set_watch_functions(server, add_watch, remove_watch, NULL, NULL, NULL);
  address = dbus_server_get_address(server);
  c = dbus_connection_open_private(address, NULL);
  dbus_free(address);
  if (!c)
    return 1;
  dbus_connection_add_filter(c, on_tick, NULL, NULL);

  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < NMETERS; i++)
      if (round == 0 || i % 8 != 3)
        ask(c, i, round == 1 && i == 7);
    while (step(c) > 0)
      ;
  }
  for (int i = 0; i < NMETERS; i++) {
    sum += meters[i].value;
    if (meters[i].last)
      dbus_message_unref(meters[i].last);
  }
  printf("good %d errors %d odd %d late %d ticks %d sum %ld\n", good, errors, odd, late, noise, sum);
  dbus_connection_close(c);
  dbus_connection_unref(c);
  if (peer) {
    dbus_connection_close(peer);
    dbus_connection_unref(peer);
  }
  dbus_server_disconnect(server);
  dbus_server_unref(server);
  return 0;
}
