/*
 * summary: a wagon that reports a fault while an earlier fault of its own still stands loses the message of the earlier one
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O0 -g
 */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAGONS 5
#define IFACE "net.example.Freight"

/* Telegrams come over a radio as marshalled D-Bus messages, a wagon a number. */

typedef struct {
    unsigned id;
    char path[32];
    DBusMessage *report;     /* the latest report, if any */
    DBusMessage *fault;      /* the fault that stands, if any */
    double axle_temp;
    unsigned reports;
} Wagon;

typedef struct Order {
    DBusMessage *message;
    struct Order *next;
} Order;

typedef struct {
    Wagon wagons[WAGONS];
    Order *orders, **tail;
    unsigned bad;
    unsigned serial;
} Yard;

typedef struct {
    char *bytes;
    int len;
} Telegram;

static Telegram telegram_of(DBusMessage *message)
{
    Telegram t;

    if (!dbus_message_marshal(message, &t.bytes, &t.len))
        abort();
    return t;
}

static Telegram radio_report(Yard *yard, unsigned wagon, double temp)
{
    char path[32];
    DBusMessage *m;
    Telegram t;

    snprintf(path, sizeof path, "/wagon/%u", wagon);
    m = dbus_message_new_signal(path, IFACE, "Report");
    dbus_message_append_args(m, DBUS_TYPE_DOUBLE, &temp, DBUS_TYPE_INVALID);
    dbus_message_set_serial(m, ++yard->serial);
    t = telegram_of(m);
    dbus_message_unref(m);
    return t;
}

static Telegram radio_fault(Yard *yard, unsigned wagon, dbus_uint32_t code, const char *text)
{
    char path[32];
    DBusMessage *m;
    Telegram t;

    snprintf(path, sizeof path, "/wagon/%u", wagon);
    m = dbus_message_new_signal(path, IFACE, "Fault");
    dbus_message_append_args(m, DBUS_TYPE_UINT32, &code, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
    dbus_message_set_serial(m, ++yard->serial);
    t = telegram_of(m);
    dbus_message_unref(m);
    return t;
}

static void yard_init(Yard *yard)
{
    memset(yard, 0, sizeof *yard);
    yard->tail = &yard->orders;
    for (unsigned i = 0; i < WAGONS; i++) {
        yard->wagons[i].id = i;
        snprintf(yard->wagons[i].path, sizeof yard->wagons[i].path, "/wagon/%u", i);
    }
}

static Wagon *yard_wagon(Yard *yard, const char *path)
{
    for (unsigned i = 0; i < WAGONS; i++)
        if (path != NULL && strcmp(yard->wagons[i].path, path) == 0)
            return &yard->wagons[i];
    return NULL;
}

static void yard_order(Yard *yard, Wagon *wagon, const char *what)
{
    Order *order = malloc(sizeof *order);

    order->message = dbus_message_new_method_call("net.example.Loco", wagon->path, IFACE, what);
    order->next = NULL;
    *yard->tail = order;
    yard->tail = &order->next;
}

static void wagon_note_report(Wagon *wagon, DBusMessage *m)
{
    if (!dbus_message_get_args(m, NULL, DBUS_TYPE_DOUBLE, &wagon->axle_temp, DBUS_TYPE_INVALID))
        return;
    if (wagon->report != NULL)
        dbus_message_unref(wagon->report);
    wagon->report = dbus_message_ref(m);
    wagon->reports++;
}

static void wagon_clear_fault(Wagon *wagon)
{
    if (wagon->fault != NULL) {
        dbus_message_unref(wagon->fault);
        wagon->fault = NULL;
    }
}

static int wagon_note_fault(Yard *yard, Wagon *wagon, DBusMessage *m)
{
    dbus_uint32_t code;
    const char *text;

    if (!dbus_message_get_args(m, NULL, DBUS_TYPE_UINT32, &code, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID))
        return -1;
    if (code == 0) {
        wagon_clear_fault(wagon);
        return 0;
    }
    if (code >= 40)
        yard_order(yard, wagon, "Brake");
#ifndef BUG
    wagon_clear_fault(wagon);
#endif
    wagon->fault = dbus_message_ref(m); /* GUILTY */
    return 0;
}

static void yard_receive(Yard *yard, Telegram t)
{
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *m = dbus_message_demarshal(t.bytes, t.len, &error);
    Wagon *wagon;

    if (m == NULL) {
        printf("garbled: %s\n", error.name);
        dbus_error_free(&error);
        yard->bad++;
        goto out;
    }
    wagon = yard_wagon(yard, dbus_message_get_path(m));
    if (wagon == NULL) {
        yard->bad++;
    } else if (dbus_message_is_signal(m, IFACE, "Report")) {
        wagon_note_report(wagon, m);
        if (wagon->axle_temp > 90.0)
            yard_order(yard, wagon, "SlowDown");
    } else if (dbus_message_is_signal(m, IFACE, "Fault")) {
        if (wagon_note_fault(yard, wagon, m) < 0)
            yard->bad++;
    } else {
        yard->bad++;
    }
    dbus_message_unref(m);
out:
    dbus_free(t.bytes);
}

static unsigned yard_send_orders(Yard *yard)
{
    unsigned sent = 0;
    Order *order;

    while ((order = yard->orders) != NULL) {
        yard->orders = order->next;
        printf("order %s for %s\n", dbus_message_get_member(order->message), dbus_message_get_path(order->message));
        dbus_message_unref(order->message);
        free(order);
        sent++;
    }
    yard->tail = &yard->orders;
    return sent;
}

static void yard_print(Yard *yard)
{
    for (unsigned i = 0; i < WAGONS; i++) {
        Wagon *wagon = &yard->wagons[i];

        printf("wagon %u: %u reports, axle %.1f", wagon->id, wagon->reports, wagon->axle_temp);
        if (wagon->fault != NULL)
            printf(", fault of telegram %u", dbus_message_get_serial(wagon->fault));
        printf("\n");
    }
}

static void yard_close(Yard *yard)
{
    for (unsigned i = 0; i < WAGONS; i++) {
        wagon_clear_fault(&yard->wagons[i]);
        if (yard->wagons[i].report != NULL)
            dbus_message_unref(yard->wagons[i].report);
        yard->wagons[i].report = NULL;
    }
    yard_send_orders(yard);
}

int main(void)
{
    Yard yard;
    Telegram garbled = { NULL, 24 };

    yard_init(&yard);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < WAGONS; i++)
            yard_receive(&yard, radio_report(&yard, i, 35.0 + 12.5 * i + 7.0 * round));

    yard_receive(&yard, radio_fault(&yard, 1, 12, "door ajar"));
    yard_receive(&yard, radio_fault(&yard, 3, 41, "hot box"));
    yard_receive(&yard, radio_fault(&yard, 3, 44, "hot box, smoke"));
    yard_receive(&yard, radio_fault(&yard, 1, 0, "door shut"));
    yard_receive(&yard, radio_fault(&yard, 1, 13, "door open"));
    yard_receive(&yard, radio_fault(&yard, 4, 20, "load shifted"));
    yard_receive(&yard, radio_fault(&yard, 3, 17, "sensor"));
    yard_receive(&yard, radio_fault(&yard, 4, 22, "load loose"));
    yard_receive(&yard, radio_fault(&yard, 9, 22, "not of this train"));
    garbled.bytes = dbus_malloc0(24);
    yard_receive(&yard, garbled);

    printf("%u orders\n", yard_send_orders(&yard));
    yard_print(&yard);
    printf("%u bad telegrams\n", yard.bad);
    yard_close(&yard);
    dbus_shutdown();
    return 0;
}
