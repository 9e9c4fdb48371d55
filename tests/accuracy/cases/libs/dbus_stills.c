/*
 * summary: the handler that stores stills gives an empty one back before it fails, though the bus' loop owns it
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O0 -g
 */
#include <dbus/dbus.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFACE "org.example.Trapcam1"
#define STILL_BYTES 16384

/* A wildlife camera sends its stills as signals. The gateway hands each of them to a chain of handlers, and remembers the last
   ones so that a client that comes late can have them replayed. */

#define MOST_HANDLERS 4
#define REPLAY 8

typedef DBusHandlerResult (*handler_func)(DBusMessage *message, void *data);

struct pending {
    struct pending *next;
    DBusMessage *message;
};

struct gateway {
    struct pending *first, **last;
    DBusMessage *replay[REPLAY];
    int replays;
    struct {
        handler_func func;
        void *data;
    } handlers[MOST_HANDLERS];
    int handler_count;
    int failures;
};

struct store {
    int stills;
    long bytes;
    DBusMessage *brightest;
    double light;
};

struct census {
    int nights, days;
};

static void gateway_init(struct gateway *gateway)
{
    memset(gateway, 0, sizeof *gateway);
    gateway->last = &gateway->first;
}

static void gateway_handler(struct gateway *gateway, handler_func func, void *data)
{
    if (gateway->handler_count == MOST_HANDLERS)
        abort();
    gateway->handlers[gateway->handler_count].func = func;
    gateway->handlers[gateway->handler_count++].data = data;
}

static void gateway_receive(struct gateway *gateway, DBusMessage *message)
{
    struct pending *pending = malloc(sizeof *pending);
    if (!pending)
        abort();
    pending->message = dbus_message_ref(message);
    pending->next = NULL;
    *gateway->last = pending;
    gateway->last = &pending->next;
}

static void gateway_remember(struct gateway *gateway, DBusMessage *message)
{
    if (gateway->replays == REPLAY) {
        dbus_message_unref(gateway->replay[0]);
        memmove(gateway->replay, gateway->replay + 1, (REPLAY - 1) * sizeof *gateway->replay);
        gateway->replays--;
    }
    gateway->replay[gateway->replays++] = dbus_message_ref(message);
}

static bool gateway_dispatch(struct gateway *gateway)
{
    struct pending *pending = gateway->first;
    if (!pending)
        return false;
    gateway->first = pending->next;
    if (!gateway->first)
        gateway->last = &gateway->first;

    DBusMessage *message = pending->message;
    free(pending);
    gateway_remember(gateway, message);
    for (int i = 0; i < gateway->handler_count; i++) {
        DBusHandlerResult result = gateway->handlers[i].func(message, gateway->handlers[i].data);
        if (result == DBUS_HANDLER_RESULT_NEED_MEMORY)
            gateway->failures++;
        if (result != DBUS_HANDLER_RESULT_NOT_YET_HANDLED)
            break;
    }
    dbus_message_unref(message);
    return true;
}

static int gateway_replay(struct gateway *gateway, handler_func func, void *data)
{
    int replayed = 0;
    for (int i = 0; i < gateway->replays; i++) {
        DBusMessage *message = dbus_message_ref(gateway->replay[i]);
        replayed += func(message, data) != DBUS_HANDLER_RESULT_NEED_MEMORY;
        dbus_message_unref(message);
    }
    return replayed;
}

static void gateway_fini(struct gateway *gateway)
{
    while (gateway->first) {
        struct pending *pending = gateway->first;
        gateway->first = pending->next;
        dbus_message_unref(pending->message);
        free(pending);
    }
    while (gateway->replays > 0)
        dbus_message_unref(gateway->replay[--gateway->replays]);
}

static DBusMessage *camera_shoot(const char *camera, double light, dbus_uint32_t width)
{
    static unsigned char pixels[STILL_BYTES];
    const unsigned char *at = pixels;
    char path[64];
    snprintf(path, sizeof path, "/cameras/%s", camera);
    for (int i = 0; i < STILL_BYTES; i++)
        pixels[i] = (unsigned char)(light * 200 + i % 17);
    DBusMessage *message = dbus_message_new_signal(path, IFACE, "Still");
    if (!message || !dbus_message_append_args(message, DBUS_TYPE_UINT32, &width, DBUS_TYPE_DOUBLE, &light, DBUS_TYPE_ARRAY,
                                              DBUS_TYPE_BYTE, &at, STILL_BYTES, DBUS_TYPE_INVALID))
        abort();
    return message;
}

static bool still_read(DBusMessage *message, dbus_uint32_t *width, double *light, int *bytes)
{
    const unsigned char *pixels;
    return dbus_message_get_args(message, NULL, DBUS_TYPE_UINT32, width, DBUS_TYPE_DOUBLE, light, DBUS_TYPE_ARRAY,
                                 DBUS_TYPE_BYTE, &pixels, bytes, DBUS_TYPE_INVALID);
}

static DBusHandlerResult count_light(DBusMessage *message, void *data)
{
    struct census *census = data;
    dbus_uint32_t width;
    double light;
    int bytes;
    if (!still_read(message, &width, &light, &bytes))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (light < 0.2)
        census->nights++;
    else
        census->days++;
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

static DBusHandlerResult store_still(DBusMessage *message, void *data)
{
    struct store *store = data;
    dbus_uint32_t width;
    double light;
    int bytes;
    if (!dbus_message_is_signal(message, IFACE, "Still"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (!still_read(message, &width, &light, &bytes))
        return DBUS_HANDLER_RESULT_NEED_MEMORY;
    if (width == 0) {
        printf("%s sent an empty still\n", dbus_message_get_path(message));
#ifdef BUG
        dbus_message_unref(message); /* GUILTY */
#endif
        return DBUS_HANDLER_RESULT_NEED_MEMORY;
    }
    store->stills++;
    store->bytes += bytes;
    if (light > store->light) {
        if (store->brightest)
            dbus_message_unref(store->brightest);
        store->brightest = dbus_message_ref(message);
        store->light = light;
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(void)
{
    static const struct { const char *camera; double light; dbus_uint32_t width; } shots[] = {
        {"creek", 0.1, 640}, {"ridge", 0.5, 640}, {"creek", 0.3, 640}, {"den", 0.05, 320}, {"ridge", 0.7, 640},
        {"den", 0.1, 0}, {"creek", 0.6, 640},
    };
    struct gateway gateway;
    struct store store = {.stills = 0};
    struct census census = {0, 0}, late = {0, 0};

    gateway_init(&gateway);
    gateway_handler(&gateway, count_light, &census);
    gateway_handler(&gateway, store_still, &store);
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++) {
        DBusMessage *still = camera_shoot(shots[i].camera, shots[i].light, shots[i].width);
        gateway_receive(&gateway, still);
        dbus_message_unref(still);
    }
    int dispatched = 0;
    while (dispatched < 5 && gateway_dispatch(&gateway))
        dispatched++;
    int replayed = gateway_replay(&gateway, count_light, &late);
    while (gateway_dispatch(&gateway))
        dispatched++;

    printf("%d dispatched, %d failed, %d replayed\n", dispatched, gateway.failures, replayed);
    printf("%d stills, %ld bytes, brightest from %s\n", store.stills, store.bytes,
           store.brightest ? dbus_message_get_path(store.brightest) : "nowhere");
    printf("%d by day, %d by night, %d seen late\n", census.days, census.nights, late.days + late.nights);
    if (store.brightest)
        dbus_message_unref(store.brightest);
    gateway_fini(&gateway);
    dbus_shutdown();
    return 0;
}
