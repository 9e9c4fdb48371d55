/*
 * summary: the reply of an inverter that answers with an error is stolen from its pending call and never released
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: DBusMessage DBusPendingCall DBusConnection
 * packages: dbus-1
 * build: clang -O1 -g
 */
#include <dbus/dbus.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFACE "org.example.Inverter"
#define INVERTERS 8
#define ROUNDS 2

/* ---- the plant: answers for all inverters ---- */

typedef struct {
    DBusServer *server;
    DBusWatch *watch;
    DBusConnection *peer;
    dbus_uint32_t watts[INVERTERS];
    unsigned served;
} Plant;

static dbus_bool_t add_watch(DBusWatch *watch, void *data)
{
    Plant *plant = data;

    if (dbus_watch_get_flags(watch) & DBUS_WATCH_READABLE)
        plant->watch = watch;
    return TRUE;
}

static void remove_watch(DBusWatch *watch, void *data)
{
    Plant *plant = data;

    if (plant->watch == watch)
        plant->watch = NULL;
}

static DBusMessage *answer(Plant *plant, DBusMessage *call)
{
    const char *path = dbus_message_get_path(call);
    unsigned index = strtoul(strrchr(path, '/') + 1, NULL, 10);
    DBusMessage *reply;

    if (index >= INVERTERS)
        return dbus_message_new_error(call, DBUS_ERROR_UNKNOWN_OBJECT, "no such inverter");
    if (plant->watts[index] == 0)
        return dbus_message_new_error_printf(call, IFACE ".Offline", "inverter %u does not answer", index);
    reply = dbus_message_new_method_return(call);
    if (reply && !dbus_message_append_args(reply, DBUS_TYPE_UINT32, &index, DBUS_TYPE_UINT32, &plant->watts[index],
                                           DBUS_TYPE_INVALID)) {
        dbus_message_unref(reply);
        return NULL;
    }
    return reply;
}

static DBusHandlerResult on_call(DBusConnection *connection, DBusMessage *message, void *data)
{
    Plant *plant = data;
    DBusMessage *reply;

    if (!dbus_message_is_method_call(message, IFACE, "Read"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    reply = answer(plant, message);
    if (!reply)
        return DBUS_HANDLER_RESULT_NEED_MEMORY;
    dbus_connection_send(connection, reply, NULL);
    dbus_message_unref(reply);
    plant->served++;
    return DBUS_HANDLER_RESULT_HANDLED;
}

static void on_new_connection(DBusServer *server, DBusConnection *connection, void *data)
{
    Plant *plant = data;

    (void)server;
    if (plant->peer)
        return;
    plant->peer = dbus_connection_ref(connection);
    dbus_connection_set_exit_on_disconnect(connection, FALSE);
    dbus_connection_add_filter(connection, on_call, plant, NULL);
}

static int plant_open(Plant *plant, DBusError *error)
{
    memset(plant, 0, sizeof *plant);
    for (unsigned i = 0; i < INVERTERS; i++)
        plant->watts[i] = i == 3 ? 0 : 1500 + 120 * i;
    plant->server = dbus_server_listen("unix:tmpdir=/tmp", error);
    if (!plant->server)
        return -1;
    dbus_server_set_new_connection_function(plant->server, on_new_connection, plant, NULL);
    if (!dbus_server_set_watch_functions(plant->server, add_watch, remove_watch, NULL, plant, NULL))
        return -1;
    return 0;
}

static void plant_step(Plant *plant)
{
    if (!plant->peer && plant->watch) {
        struct pollfd fd = {dbus_watch_get_unix_fd(plant->watch), POLLIN, 0};
        if (poll(&fd, 1, 100) == 1)
            dbus_watch_handle(plant->watch, DBUS_WATCH_READABLE);
    }
    if (plant->peer)
        dbus_connection_read_write_dispatch(plant->peer, 0);
}

static void plant_close(Plant *plant)
{
    if (plant->peer) {
        dbus_connection_remove_filter(plant->peer, on_call, plant);
        dbus_connection_close(plant->peer);
        dbus_connection_unref(plant->peer);
    }
    dbus_server_disconnect(plant->server);
    dbus_server_unref(plant->server);
}

/* ---- the reader: asks every inverter, some rounds ---- */

typedef struct {
    DBusConnection *connection;
    unsigned waiting, failures;
    unsigned long total;
    char worst[64];
} Reader;

static void note_failure(Reader *reader, const DBusError *error)
{
    reader->failures++;
    snprintf(reader->worst, sizeof reader->worst, "%s", error->message);
}

static void on_reading(DBusPendingCall *pending, void *data)
{
    Reader *reader = data;
    DBusMessage *reply = dbus_pending_call_steal_reply(pending);
    DBusError error = DBUS_ERROR_INIT;
    dbus_uint32_t index, watts;

    reader->waiting--;
    if (!reply)
        return;
    if (dbus_set_error_from_message(&error, reply)) {
        note_failure(reader, &error);
        dbus_error_free(&error);
#ifndef BUG
        dbus_message_unref(reply);
#endif
        return; /* GUILTY */
    }
    if (dbus_message_get_args(reply, &error, DBUS_TYPE_UINT32, &index, DBUS_TYPE_UINT32, &watts, DBUS_TYPE_INVALID)) {
        reader->total += watts;
    } else {
        note_failure(reader, &error);
        dbus_error_free(&error);
    }
    dbus_message_unref(reply);
}

static int ask(Reader *reader, unsigned index)
{
    DBusPendingCall *pending = NULL;
    DBusMessage *call;
    char path[64];
    int status = -1;

    snprintf(path, sizeof path, "/inverter/%u", index);
    call = dbus_message_new_method_call(NULL, path, IFACE, "Read");
    if (!call)
        return -1;
    if (!dbus_connection_send_with_reply(reader->connection, call, &pending, 5000) || !pending)
        goto out;
    if (!dbus_pending_call_set_notify(pending, on_reading, reader, NULL)) {
        dbus_pending_call_cancel(pending);
        goto out;
    }
    reader->waiting++;
    status = 0;
out:
    if (pending)
        dbus_pending_call_unref(pending);
    dbus_message_unref(call);
    return status;
}

static int reader_open(Reader *reader, const char *address, DBusError *error)
{
    memset(reader, 0, sizeof *reader);
    reader->connection = dbus_connection_open_private(address, error);
    if (!reader->connection)
        return -1;
    dbus_connection_set_exit_on_disconnect(reader->connection, FALSE);
    return 0;
}

static void reader_close(Reader *reader)
{
    dbus_connection_close(reader->connection);
    dbus_connection_unref(reader->connection);
}

static void pump(Plant *plant, Reader *reader)
{
    while (reader->waiting) {
        plant_step(plant);
        dbus_connection_read_write_dispatch(reader->connection, 0);
        while (dbus_connection_get_dispatch_status(reader->connection) == DBUS_DISPATCH_DATA_REMAINS)
            dbus_connection_dispatch(reader->connection);
    }
}

int main(void)
{
    DBusError error = DBUS_ERROR_INIT;
    Plant plant;
    Reader reader;
    char *address;

    if (plant_open(&plant, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    address = dbus_server_get_address(plant.server);
    if (reader_open(&reader, address, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    dbus_free(address);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < INVERTERS; i++)
            ask(&reader, i);
        pump(&plant, &reader);
    }
    ask(&reader, 99);
    pump(&plant, &reader);
    printf("%lu W, %u failures (%s), %u served\n", reader.total, reader.failures, reader.worst, plant.served);
    reader_close(&reader);
    plant_close(&plant);
    dbus_shutdown();
    return 0;
}
