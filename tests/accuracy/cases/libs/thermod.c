/* summary: reading a zone's temperature returns early when the sensor is offline and never unrefs the reply message
 * kind: missing-put
 * counts: surplus
 * objects: 12
 * track: dbus
 * packages: dbus-1
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
#include <dbus/dbus.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFACE    "org.example.Thermo.Zone"
#define PATH     "/org/example/thermo"
#define N_ZONES  18

/* ===================== the service, in its own thread ================ */

struct zone {
    double target;
    dbus_bool_t offline;
};

struct service {
    DBusServer *server;
    DBusWatch *watch;
    DBusConnection *peer;
    struct zone zones[N_ZONES];
    int calls;
};

static DBusMessage *zone_get(struct service *s, struct zone *z, DBusMessage *msg)
{
    DBusMessage *reply = dbus_message_new_method_return(msg);
    DBusMessageIter it, var;
    const char *text = "offline";
    double temp = z->target - 0.5;

    dbus_message_iter_init_append(reply, &it);
    if (z->offline) {
        dbus_message_iter_open_container(&it, DBUS_TYPE_VARIANT, "s", &var);
        dbus_message_iter_append_basic(&var, DBUS_TYPE_STRING, &text);
    } else {
        dbus_message_iter_open_container(&it, DBUS_TYPE_VARIANT, "d", &var);
        dbus_message_iter_append_basic(&var, DBUS_TYPE_DOUBLE, &temp);
    }
    dbus_message_iter_close_container(&it, &var);
    return reply;
}

static DBusMessage *zone_set_target(struct service *s, struct zone *z, DBusMessage *msg)
{
    double target;

    if (!dbus_message_get_args(msg, NULL, DBUS_TYPE_DOUBLE, &target, DBUS_TYPE_INVALID))
        return dbus_message_new_error(msg, DBUS_ERROR_INVALID_ARGS, "one double expected");
    if (target > 30.0)
        return dbus_message_new_error_printf(msg, "org.example.Thermo.TooHot",
                                             "%.1f is above the limit", target);
    z->target = target;
    return dbus_message_new_method_return(msg);
}

static const struct {
    const char *member;
    DBusMessage *(*call)(struct service *, struct zone *, DBusMessage *);
} methods[] = {
    { "GetTemperature", zone_get },
    { "SetTarget", zone_set_target },
};

static DBusHandlerResult on_zone_message(DBusConnection *conn, DBusMessage *msg, void *data)
{
    struct service *s = data;
    const char *path = dbus_message_get_path(msg);
    DBusMessage *reply = NULL;
    int nr;

    if (!path || sscanf(path, PATH "/%d", &nr) != 1 || nr < 0 || nr >= N_ZONES)
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0] && !reply; i++)
        if (dbus_message_is_method_call(msg, IFACE, methods[i].member))
            reply = methods[i].call(s, &s->zones[nr], msg);
    if (!reply)
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    s->calls++;
    dbus_connection_send(conn, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

static const DBusObjectPathVTable zone_vtable = { .message_function = on_zone_message };

static void on_new_connection(DBusServer *server, DBusConnection *conn, void *data)
{
    struct service *s = data;

    s->peer = dbus_connection_ref(conn);
    dbus_connection_register_fallback(conn, PATH, &zone_vtable, s);
}

static dbus_bool_t add_watch(DBusWatch *w, void *data)
{
    ((struct service *)data)->watch = w;
    return TRUE;
}

static void remove_watch(DBusWatch *w, void *data)
{
    ((struct service *)data)->watch = NULL;
}

static void *service_run(void *data)
{
    struct service *s = data;

    while (!s->peer && s->watch) {
        struct pollfd p = { .fd = dbus_watch_get_unix_fd(s->watch), .events = POLLIN };

        if (poll(&p, 1, 5000) <= 0)
            return NULL;
        dbus_watch_handle(s->watch, DBUS_WATCH_READABLE);
    }
    while (dbus_connection_read_write_dispatch(s->peer, -1))
        ;
    dbus_connection_unref(s->peer);
    return NULL;
}

static int service_open(struct service *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < N_ZONES; i++) {
        s->zones[i].target = 18.0 + i % 5;
        s->zones[i].offline = i % 5 == 2;
    }
    s->server = dbus_server_listen("unix:tmpdir=/tmp", NULL);
    if (!s->server)
        return -1;
    dbus_server_set_new_connection_function(s->server, on_new_connection, s, NULL);
    dbus_server_set_watch_functions(s->server, add_watch, remove_watch, NULL, s, NULL);
    return 0;
}

static void service_close(struct service *s)
{
    dbus_server_disconnect(s->server);
    dbus_server_unref(s->server);
}

/* ============================ the client ============================= */

struct client {
    DBusConnection *conn;
    int offline, refused, acks;
};

static DBusMessage *new_call(int zone, const char *member)
{
    char path[64];

    snprintf(path, sizeof path, PATH "/%d", zone);
    return dbus_message_new_method_call(NULL, path, IFACE, member);
}

/* Sends and waits. The call is consumed, the reply belongs to the caller. */
static DBusMessage *call_and_wait(struct client *c, DBusMessage *call)
{
    DBusError err = DBUS_ERROR_INIT;
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(c->conn, call, 2000, &err);

    dbus_message_unref(call);
    if (!reply) {
        fprintf(stderr, "call failed: %s\n", err.message);
        dbus_error_free(&err);
    }
    return reply;
}

static int read_zone(struct client *c, int zone, double *temp)
{
    DBusMessageIter it, var;
    DBusMessage *reply = call_and_wait(c, new_call(zone, "GetTemperature"));   /* ACCEPTED */

    if (!reply)
        return -1;
    dbus_message_iter_init(reply, &it);
    dbus_message_iter_recurse(&it, &var);
    if (dbus_message_iter_get_arg_type(&var) != DBUS_TYPE_DOUBLE) {
        c->offline++;
#ifdef BUG
        return 0;                                                    /* GUILTY */
#else
        dbus_message_unref(reply);
        return 0;
#endif
    }
    dbus_message_iter_get_basic(&var, temp);
    dbus_message_unref(reply);
    return 1;
}

static void on_set_target_reply(DBusPendingCall *pending, void *data)
{
    struct client *c = data;
    DBusMessage *reply = dbus_pending_call_steal_reply(pending);

    if (dbus_message_is_error(reply, "org.example.Thermo.TooHot"))
        c->refused++;
    else
        c->acks++;
    dbus_message_unref(reply);
}

static void set_all_targets(struct client *c, double base)
{
    DBusPendingCall *pending[N_ZONES];

    for (int i = 0; i < N_ZONES; i++) {
        DBusMessage *call = new_call(i, "SetTarget");
        double target = base + i * 0.5;

        dbus_message_append_args(call, DBUS_TYPE_DOUBLE, &target, DBUS_TYPE_INVALID);
        dbus_connection_send_with_reply(c->conn, call, &pending[i], 2000);
        dbus_message_unref(call);
        dbus_pending_call_set_notify(pending[i], on_set_target_reply, c, NULL);
    }
    for (int i = 0; i < N_ZONES; i++) {
        dbus_pending_call_block(pending[i]);
        dbus_pending_call_unref(pending[i]);
    }
}

static void print_mean(struct client *c, const char *when)
{
    double sum = 0, temp;
    int n = 0;

    for (int i = 0; i < N_ZONES; i++)
        if (read_zone(c, i, &temp) > 0) {
            sum += temp;
            n++;
        }
    printf("%s: mean of %d zones %.2f\n", when, n, n ? sum / n : 0);
}

int main(void)
{
    struct service service;
    struct client c = { 0 };
    pthread_t thread;
    char *address;

    dbus_threads_init_default();
    if (service_open(&service) < 0)
        return 1;
    pthread_create(&thread, NULL, service_run, &service);
    address = dbus_server_get_address(service.server);
    c.conn = dbus_connection_open_private(address, NULL);
    dbus_free(address);
    if (!c.conn)
        return 1;

    print_mean(&c, "morning");
    set_all_targets(&c, 22.5);
    print_mean(&c, "noon");
    set_all_targets(&c, 19.0);
    print_mean(&c, "night");
    printf("%d answers without a value, %d targets set, %d refused\n",
           c.offline, c.acks, c.refused);

    dbus_connection_close(c.conn);
    dbus_connection_unref(c.conn);
    pthread_join(thread, NULL);
    printf("service handled %d calls\n", service.calls);
    service_close(&service);
    dbus_shutdown();
    return 0;
}
