/* summary: seat_take() stores the new line of an agent that registers again over the old one, which is never closed and given back
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: DBusConnection DBusMessage
 * packages: dbus-1
 * build: gcc -O2
 * exit: 0
 */
/* A hub that agents of build machines call over D-Bus lines of their own, without a bus. Whoever calls waits in the
 * lobby until he has registered a name and then has a seat. Agents whose network was away call again and register the
 * same name while the hub still believes in the old line. Both sides run in this process, in one thread. */
#include <dbus/dbus.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IFACE "com.example.Hub"
#define NAGENTS 9
#define LOBBY 4
#define MAX_WATCHES 4

struct seat {
  char name[16];
  DBusConnection *line; /* owned */
  unsigned jobs, registered;
};

struct hub {
  DBusServer *server;           /* owned */
  DBusWatch *watches[MAX_WATCHES];
  DBusConnection *lobby[LOBBY]; /* owned */
  struct seat seats[NAGENTS];
  int nseats;
  unsigned calls, turned_away;
};

struct agent {
  char name[16];
  DBusConnection *line; /* owned */
  DBusConnection *dead; /* owned, a line that is lost but not yet closed */
  unsigned accepted, refused;
};

static struct hub hub;
static struct agent agents[NAGENTS];

/* ---- the hub ---- */

static void line_drop(DBusConnection *line) {
  dbus_connection_close(line);
  dbus_connection_unref(line);
}

static struct seat *seat_of(struct hub *h, DBusConnection *line) {
  for (int i = 0; i < h->nseats; i++)
    if (h->seats[i].line == line)
      return &h->seats[i];
  return NULL;
}

static struct seat *seat_named(struct hub *h, const char *name) {
  for (int i = 0; i < h->nseats; i++)
    if (!strcmp(h->seats[i].name, name))
      return &h->seats[i];
  if (h->nseats == NAGENTS)
    return NULL;
  snprintf(h->seats[h->nseats].name, sizeof(h->seats[0].name), "%s", name);
  return &h->seats[h->nseats++];
}

static DBusConnection **lobby_place(struct hub *h, DBusConnection *line) {
  for (int i = 0; i < LOBBY; i++)
    if (h->lobby[i] == line)
      return &h->lobby[i];
  return NULL;
}

/* The line goes from its place in the lobby to the seat. */
static void seat_take(struct seat *s, DBusConnection **place) {
#ifndef BUG
  if (s->line)
    line_drop(s->line);
#endif
  s->line = *place; /* GUILTY */
  *place = NULL;
  s->registered++;
}

static int answer(DBusConnection *line, DBusMessage *call, dbus_bool_t good, dbus_uint32_t value) {
  DBusMessage *reply = good ? dbus_message_new_method_return(call)
                            : dbus_message_new_error(call, IFACE ".Error.Refused", "not now");
  int ok;

  if (!reply)
    return -1;
  if (good)
    dbus_message_append_args(reply, DBUS_TYPE_UINT32, &value, DBUS_TYPE_INVALID);
  ok = dbus_connection_send(line, reply, NULL);
  dbus_message_unref(reply);
  return ok ? 0 : -1;
}

static DBusHandlerResult on_register(struct hub *h, DBusConnection *line, DBusMessage *call) {
  DBusConnection **place = lobby_place(h, line);
  const char *name;
  struct seat *s;

  if (!place || !dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID) ||
      !(s = seat_named(h, name))) {
    answer(line, call, FALSE, 0);
    return DBUS_HANDLER_RESULT_HANDLED;
  }
  seat_take(s, place);
  answer(line, call, TRUE, s->registered);
  return DBUS_HANDLER_RESULT_HANDLED;
}

static DBusHandlerResult on_job(struct hub *h, DBusConnection *line, DBusMessage *call) {
  struct seat *s = seat_of(h, line);
  dbus_uint32_t job;

  if (!s || !dbus_message_get_args(call, NULL, DBUS_TYPE_UINT32, &job, DBUS_TYPE_INVALID) || job % 11 == 5) {
    answer(line, call, FALSE, 0);
    return DBUS_HANDLER_RESULT_HANDLED;
  }
  answer(line, call, TRUE, ++s->jobs);
  return DBUS_HANDLER_RESULT_HANDLED;
}

static void on_hang_up(struct hub *h, DBusConnection *line) {
  struct seat *s = seat_of(h, line);
  DBusConnection **place = lobby_place(h, line);

  if (s) {
    dbus_connection_unref(s->line);
    s->line = NULL;
  } else if (place) {
    dbus_connection_unref(*place);
    *place = NULL;
  }
}

static DBusHandlerResult hub_filter(DBusConnection *line, DBusMessage *msg, void *data) {
  struct hub *h = data;

  if (dbus_message_is_signal(msg, DBUS_INTERFACE_LOCAL, "Disconnected")) {
    on_hang_up(h, line);
    return DBUS_HANDLER_RESULT_HANDLED;
  }
  h->calls++;
  if (dbus_message_is_method_call(msg, IFACE, "Register"))
    return on_register(h, line, msg);
  if (dbus_message_is_method_call(msg, IFACE, "Job"))
    return on_job(h, line, msg);
  return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

static void on_new_line(DBusServer *server, DBusConnection *line, void *data) {
  struct hub *h = data;
  DBusConnection **place = lobby_place(h, NULL);

  (void)server;
  if (!place || !dbus_connection_add_filter(line, hub_filter, h, NULL)) {
    h->turned_away++;
    dbus_connection_close(line);
    return;
  }
  *place = dbus_connection_ref(line); /* ACCEPTED */
}

static dbus_bool_t watch_add(DBusWatch *watch, void *data) {
  struct hub *h = data;

  for (int i = 0; i < MAX_WATCHES; i++)
    if (!h->watches[i]) {
      h->watches[i] = watch;
      return TRUE;
    }
  return FALSE;
}

static void watch_remove(DBusWatch *watch, void *data) {
  struct hub *h = data;

  for (int i = 0; i < MAX_WATCHES; i++)
    if (h->watches[i] == watch)
      h->watches[i] = NULL;
}

static int hub_open(struct hub *h) {
  char address[48];

  snprintf(address, sizeof(address), "unix:abstract=agent_hub-%d", (int)getpid());
  h->server = dbus_server_listen(address, NULL);
  if (!h->server)
    return -1;
  dbus_server_set_new_connection_function(h->server, on_new_line, h, NULL);
  return dbus_server_set_watch_functions(h->server, watch_add, watch_remove, NULL, h, NULL) ? 0 : -1;
}

static void line_turn(DBusConnection *line) {
  if (!line)
    return;
  dbus_connection_ref(line);
  dbus_connection_read_write_dispatch(line, 0);
  while (dbus_connection_get_dispatch_status(line) == DBUS_DISPATCH_DATA_REMAINS)
    dbus_connection_dispatch(line);
  dbus_connection_unref(line);
}

static void hub_turn(struct hub *h) {
  for (int i = 0; i < MAX_WATCHES; i++) {
    struct pollfd p = {-1, POLLIN, 0};

    if (h->watches[i] && dbus_watch_get_enabled(h->watches[i]))
      p.fd = dbus_watch_get_unix_fd(h->watches[i]);
    if (p.fd >= 0 && poll(&p, 1, 0) > 0)
      dbus_watch_handle(h->watches[i], DBUS_WATCH_READABLE);
  }
  for (int i = 0; i < LOBBY; i++)
    line_turn(h->lobby[i]);
  for (int i = 0; i < h->nseats; i++)
    line_turn(h->seats[i].line);
}

static void hub_close(struct hub *h) {
  for (int i = 0; i < LOBBY; i++)
    if (h->lobby[i])
      line_drop(h->lobby[i]);
  for (int i = 0; i < h->nseats; i++)
    if (h->seats[i].line)
      line_drop(h->seats[i].line);
  dbus_server_disconnect(h->server);
  dbus_server_unref(h->server);
}

/* The side of the agents: calls the hub and waits; 0 if it refused. */
static dbus_uint32_t agent_call(struct agent *a, const char *method, int type, const void *value) {
  DBusMessage *call = dbus_message_new_method_call(NULL, "/hub", IFACE, method), *reply;
  DBusPendingCall *pending = NULL;
  dbus_uint32_t result = 0;

  dbus_message_append_args(call, type, value, DBUS_TYPE_INVALID);
  if (dbus_connection_send_with_reply(a->line, call, &pending, DBUS_TIMEOUT_INFINITE) && pending) {
    while (!dbus_pending_call_get_completed(pending)) {
      line_turn(a->line);
      hub_turn(&hub);
    }
    reply = dbus_pending_call_steal_reply(pending);
    if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_METHOD_RETURN)
      dbus_message_get_args(reply, NULL, DBUS_TYPE_UINT32, &result, DBUS_TYPE_INVALID);
    dbus_message_unref(reply);
    dbus_pending_call_unref(pending);
  }
  dbus_message_unref(call);
  *(result ? &a->accepted : &a->refused) += 1;
  return result;
}

static int agent_connect(struct agent *a, const char *address) {
  const char *name = a->name;

  a->line = dbus_connection_open_private(address, NULL);
  if (!a->line)
    return -1;
  dbus_connection_set_exit_on_disconnect(a->line, FALSE);
  return agent_call(a, "Register", DBUS_TYPE_STRING, &name) ? 0 : -1;
}

static void agent_hang_up(DBusConnection **line) {
  if (*line)
    line_drop(*line);
  *line = NULL;
}

int main(void) {
  unsigned jobs = 0, accepted = 0, refused = 0;
  char *address;

  if (hub_open(&hub) < 0)
    return 1;
  address = dbus_server_get_address(hub.server);
  for (int i = 0; i < NAGENTS; i++) {
    snprintf(agents[i].name, sizeof(agents[i].name), "builder%d", i);
    if (agent_connect(&agents[i], address) < 0)
      return 1;
  }
  for (dbus_uint32_t n = 1; n <= 60; n++) {
    struct agent *a = &agents[n % NAGENTS];

    if (n % 13 == 0) { /* its network was away */
      agent_hang_up(&a->dead);
      a->dead = a->line;
      agent_connect(a, address);
    } else if (n % 17 == 0) { /* restarted */
      agent_hang_up(&a->line);
      for (int k = 0; k < 3; k++)
        hub_turn(&hub);
      agent_connect(a, address);
    }
    agent_call(a, "Job", DBUS_TYPE_UINT32, &n);
  }
  for (int i = 0; i < NAGENTS; i++) {
    agent_hang_up(&agents[i].dead);
    agent_hang_up(&agents[i].line);
    accepted += agents[i].accepted;
    refused += agents[i].refused;
    jobs += hub.seats[i].jobs;
  }
  for (int k = 0; k < 3; k++)
    hub_turn(&hub);
  printf("accepted %u refused %u jobs %u calls %u turned away %u\n", accepted, refused, jobs, hub.calls, hub.turned_away);
  hub_close(&hub);
  dbus_free(address);
  dbus_shutdown();
  return 0;
}
