/* summary: In the retry loop the Busy error reply is overwritten by the next reply without dbus_message_unref
 * kind: overwritten
 * counts: surplus
 * objects: 7
 * track: dbus
 * packages: dbus-1
 * build: gcc -O1 -g -pthread
 * exit: 0
 */
/*
 * unitquery - ask a service manager for the state of its units over a
 * private (peer-to-peer) D-Bus connection.  The manager side runs in a
 * thread of the same process so that the tool can be exercised offline.
 */
#include <dbus/dbus.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IFACE   "org.example.Manager"
#define PATH    "/org/example/Manager"
#define ERR_BUSY "org.example.Manager.Error.Busy"
#define NUNITS  120

/* ------------------------------------------------------------ manager side */

struct manager {
    DBusServer *server;
    DBusConnection *peer;
    int listen_fd;
    DBusWatch *listen_watch;
    unsigned calls;
    unsigned busy_answers;
    atomic_int stop;
};

static dbus_bool_t add_watch(DBusWatch *w, void *data)
{
    struct manager *mg = data;

    mg->listen_fd = dbus_watch_get_unix_fd(w);
    mg->listen_watch = w;
    return TRUE;
}

static void remove_watch(DBusWatch *w, void *data)
{
    struct manager *mg = data;

    if (mg->listen_watch == w)
        mg->listen_watch = NULL;
}

static DBusMessage *answer_get_unit(struct manager *mg, DBusMessage *call)
{
    const char *unit = NULL, *state;
    DBusMessage *reply;
    dbus_uint32_t pid;

    if (!dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &unit, DBUS_TYPE_INVALID))
        return dbus_message_new_error(call, DBUS_ERROR_INVALID_ARGS, "unit name expected");
    if (mg->calls % 16 == 15) {
        mg->busy_answers++;
        return dbus_message_new_error(call, ERR_BUSY, "reloading");
    }
    if (strstr(unit, "ghost"))
        return dbus_message_new_error(call, DBUS_ERROR_FILE_NOT_FOUND, unit);
    state = (strlen(unit) & 1) ? "active" : "inactive";
    pid = 1000 + mg->calls;
    reply = dbus_message_new_method_return(call);
    dbus_message_append_args(reply, DBUS_TYPE_STRING, &state,
                             DBUS_TYPE_UINT32, &pid, DBUS_TYPE_INVALID);
    return reply;
}

static DBusHandlerResult on_message(DBusConnection *c, DBusMessage *m, void *data)
{
    struct manager *mg = data;
    DBusMessage *reply;

    if (!dbus_message_is_method_call(m, IFACE, "GetUnit"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    reply = answer_get_unit(mg, m);
    mg->calls++;
    usleep(400);                /* unit state lives on slow storage */
    dbus_connection_send(c, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

static void on_connection(DBusServer *s, DBusConnection *c, void *data)
{
    struct manager *mg = data;

    (void)s;
    mg->peer = dbus_connection_ref(c);
    dbus_connection_add_filter(c, on_message, mg, NULL);
}

static void *manager_main(void *arg)
{
    struct manager *mg = arg;

    while (!atomic_load(&mg->stop)) {
        if (mg->peer == NULL) {
            struct pollfd p = { .fd = mg->listen_fd, .events = POLLIN };

            if (poll(&p, 1, 20) > 0)
                dbus_watch_handle(mg->listen_watch, DBUS_WATCH_READABLE);
            continue;
        }
        if (!dbus_connection_read_write_dispatch(mg->peer, 20))
            break;
    }
    if (mg->peer) {
        dbus_connection_remove_filter(mg->peer, on_message, mg);
        dbus_connection_close(mg->peer);
        dbus_connection_unref(mg->peer);
    }
    return NULL;
}

/* ------------------------------------------------------------- client side */

static DBusMessage *call_once(DBusConnection *c, const char *unit)
{
    DBusMessage *call = dbus_message_new_method_call(NULL, PATH, IFACE, "GetUnit");
    DBusPendingCall *pending = NULL;
    DBusMessage *reply = NULL;

    dbus_message_append_args(call, DBUS_TYPE_STRING, &unit, DBUS_TYPE_INVALID);
    if (dbus_connection_send_with_reply(c, call, &pending, 2000) && pending) {
        dbus_pending_call_block(pending);
        reply = dbus_pending_call_steal_reply(pending);
        dbus_pending_call_unref(pending);
    }
    dbus_message_unref(call);
    return reply;
}

/* A manager that is reloading asks for patience; try a few times. */
static DBusMessage *call_patiently(DBusConnection *c, const char *unit)
{
    DBusMessage *reply = call_once(c, unit);
    int attempt;

    for (attempt = 0; attempt < 3; attempt++) {
        if (reply == NULL || !dbus_message_is_error(reply, ERR_BUSY))
            break;
        usleep(500);
#ifdef BUG
        reply = call_once(c, unit); /* GUILTY */
#else
        dbus_message_unref(reply);
        reply = call_once(c, unit);
#endif
    }
    return reply;
}

struct tally {
    unsigned active, inactive, missing, failed;
    unsigned long pids;
};

static void query_unit(DBusConnection *c, const char *unit, struct tally *t)
{
    DBusMessage *reply = call_patiently(c, unit);
    const char *state;
    dbus_uint32_t pid;

    if (reply == NULL) {
        t->failed++;
        return;
    }
    if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR) {
        if (dbus_message_is_error(reply, DBUS_ERROR_FILE_NOT_FOUND))
            t->missing++;
        else
            t->failed++;
        dbus_message_unref(reply);
        return;
    }
    if (dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &state,
                              DBUS_TYPE_UINT32, &pid, DBUS_TYPE_INVALID)) {
        if (!strcmp(state, "active"))
            t->active++;
        else
            t->inactive++;
        t->pids += pid;
    }
    dbus_message_unref(reply);
}

int main(void)
{
    static const char *kinds[] = { "service", "socket", "timer", "ghost", "mount" };
    struct manager mg = { .listen_fd = -1 };
    struct tally t = { 0 };
    DBusError err = DBUS_ERROR_INIT;
    DBusConnection *c;
    pthread_t thread;
    char *addr, unit[64];
    int i;

    dbus_threads_init_default();
    mg.server = dbus_server_listen("unix:tmpdir=/tmp", &err);
    if (mg.server == NULL) {
        fprintf(stderr, "listen: %s\n", err.message);
        return 1;
    }
    dbus_server_set_watch_functions(mg.server, add_watch, remove_watch, NULL, &mg, NULL);
    dbus_server_set_new_connection_function(mg.server, on_connection, &mg, NULL);
    addr = dbus_server_get_address(mg.server);
    pthread_create(&thread, NULL, manager_main, &mg);

    c = dbus_connection_open_private(addr, &err);
    if (c == NULL) {
        fprintf(stderr, "open: %s\n", err.message);
        return 1;
    }
    for (i = 0; i < NUNITS; i++) {
        snprintf(unit, sizeof unit, "job-%d.%s", i * i, kinds[i % 5]);
        query_unit(c, unit, &t);
    }
    dbus_connection_close(c);
    dbus_connection_unref(c);
    atomic_store(&mg.stop, 1);
    pthread_join(thread, NULL);

    printf("active %u inactive %u missing %u failed %u (busy %u of %u calls, pids %lu)\n",
           t.active, t.inactive, t.missing, t.failed, mg.busy_answers, mg.calls, t.pids);
    dbus_server_disconnect(mg.server);
    dbus_server_unref(mg.server);
    dbus_free(addr);
    dbus_shutdown();
    return 0;
}
