/*
 * summary: when the motor jams the reply that was already made for the sale is replaced by an error, without an unref
 * kind: overwritten
 * counts: surplus
 * objects: 1
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O1 -g
 */
#include <dbus/dbus.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFACE "org.example.Vending1"
#define PATH "/org/example/vending"
#define ERROR_JAMMED IFACE ".Error.Jammed"
#define ERROR_SOLD_OUT IFACE ".Error.SoldOut"

/* Messages come in as bytes from the coin box' serial line, and replies leave as bytes. Signals wait in the outbox for the
   next poll of the office. */

struct outbox_item {
    DBusMessage *message;
    struct outbox_item *next;
};

struct shelf {
    const char *article;
    dbus_uint32_t price;
    int stock;
    int jams_at; /* stock at which the motor jams, as tests want it */
};

struct machine {
    struct shelf shelves[4];
    struct outbox_item *outbox;
    struct outbox_item **outbox_tail;
    DBusMessage *last_call; /* for the service technician */
    dbus_uint32_t serial;
    dbus_uint32_t takings;
    int replies, errors;
};

static void outbox_add(struct machine *machine, DBusMessage *message)
{
    struct outbox_item *item = malloc(sizeof *item);

    if (item == NULL)
        abort();
    item->message = dbus_message_ref(message);
    item->next = NULL;
    *machine->outbox_tail = item;
    machine->outbox_tail = &item->next;
}

static DBusMessage *outbox_take(struct machine *machine)
{
    struct outbox_item *item = machine->outbox;
    DBusMessage *message;

    if (item == NULL)
        return NULL;
    message = item->message;
    machine->outbox = item->next;
    if (machine->outbox == NULL)
        machine->outbox_tail = &machine->outbox;
    free(item);
    return message;
}

static void announce_stock(struct machine *machine, const struct shelf *shelf)
{
    DBusMessage *signal = dbus_message_new_signal(PATH, IFACE, "StockLow");
    dbus_int32_t left = shelf->stock;

    if (signal == NULL)
        return;
    if (dbus_message_append_args(signal, DBUS_TYPE_STRING, &shelf->article, DBUS_TYPE_INT32, &left, DBUS_TYPE_INVALID))
        outbox_add(machine, signal);
    dbus_message_unref(signal);
}

static struct shelf *find_shelf(struct machine *machine, const char *article)
{
    for (size_t i = 0; i < sizeof machine->shelves / sizeof machine->shelves[0]; i++)
        if (machine->shelves[i].article != NULL && strcmp(machine->shelves[i].article, article) == 0)
            return &machine->shelves[i];
    return NULL;
}

/* Turns the spiral of the shelf once; false: nothing fell. */
static bool turn_spiral(struct shelf *shelf)
{
    if (shelf->stock == shelf->jams_at)
        return false;
    shelf->stock--;
    return true;
}

static DBusMessage *handle_price(struct machine *machine, DBusMessage *call)
{
    const char *article;
    struct shelf *shelf;
    DBusMessage *reply;

    if (!dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &article, DBUS_TYPE_INVALID))
        return dbus_message_new_error(call, DBUS_ERROR_INVALID_ARGS, "one article is expected");
    shelf = find_shelf(machine, article);
    if (shelf == NULL)
        return dbus_message_new_error_printf(call, DBUS_ERROR_INVALID_ARGS, "there is no %s", article);
    reply = dbus_message_new_method_return(call);
    if (reply != NULL)
        dbus_message_append_args(reply, DBUS_TYPE_UINT32, &shelf->price, DBUS_TYPE_INVALID);
    return reply;
}

static DBusMessage *handle_sell(struct machine *machine, DBusMessage *call)
{
    const char *article;
    dbus_uint32_t paid, change;
    struct shelf *shelf;
    DBusMessage *reply;

    if (!dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &article, DBUS_TYPE_UINT32, &paid, DBUS_TYPE_INVALID))
        return dbus_message_new_error(call, DBUS_ERROR_INVALID_ARGS, "an article and a sum are expected");
    shelf = find_shelf(machine, article);
    if (shelf == NULL || shelf->stock == 0)
        return dbus_message_new_error_printf(call, ERROR_SOLD_OUT, "no %s left", article);
    if (paid < shelf->price)
        return dbus_message_new_error_printf(call, DBUS_ERROR_INVALID_ARGS, "%s is %u", article, shelf->price);

    reply = dbus_message_new_method_return(call);
    change = paid - shelf->price;
    if (reply == NULL || !dbus_message_append_args(reply, DBUS_TYPE_UINT32, &change, DBUS_TYPE_INVALID)) {
        if (reply != NULL)
            dbus_message_unref(reply);
        return NULL;
    }
    if (!turn_spiral(shelf)) {
#ifndef BUG
        dbus_message_unref(reply);
#endif
        reply = dbus_message_new_error_printf(call, ERROR_JAMMED, "%s is stuck, %u back", article, paid); /* GUILTY */
        shelf->jams_at = -1;
        return reply;
    }
    machine->takings += shelf->price;
    if (shelf->stock < 2)
        announce_stock(machine, shelf);
    return reply;
}

/* Takes the bytes of a call apart and returns those of the reply, which the caller frees. */
static char *machine_serve(struct machine *machine, const char *bytes, int length, int *reply_length)
{
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *call = dbus_message_demarshal(bytes, length, &error);
    DBusMessage *reply = NULL;
    char *out = NULL;

    if (call == NULL) {
        printf("a call is damaged: %s\n", error.name);
        dbus_error_free(&error);
        return NULL;
    }
    if (dbus_message_is_method_call(call, IFACE, "Price"))
        reply = handle_price(machine, call);
    else if (dbus_message_is_method_call(call, IFACE, "Sell"))
        reply = handle_sell(machine, call);
    else
        reply = dbus_message_new_error(call, DBUS_ERROR_UNKNOWN_METHOD, "no such method");

    if (reply != NULL) {
        if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR)
            machine->errors++;
        else
            machine->replies++;
        dbus_message_set_serial(reply, ++machine->serial);
        if (!dbus_message_marshal(reply, &out, reply_length))
            out = NULL;
        dbus_message_unref(reply);
    }
    if (machine->last_call != NULL)
        dbus_message_unref(machine->last_call);
    machine->last_call = call;
    return out;
}

/* The coin box: makes a call, and says what came back. */
static void coin_box_call(struct machine *machine, const char *method, const char *article, dbus_uint32_t paid)
{
    static dbus_uint32_t serial;
    DBusMessage *call = dbus_message_new_method_call(NULL, PATH, IFACE, method);
    DBusMessage *reply;
    char *bytes, *answer;
    int length, answer_length = 0;
    dbus_uint32_t number = 0;

    if (call == NULL)
        return;
    dbus_message_append_args(call, DBUS_TYPE_STRING, &article, DBUS_TYPE_INVALID);
    if (paid != 0)
        dbus_message_append_args(call, DBUS_TYPE_UINT32, &paid, DBUS_TYPE_INVALID);
    dbus_message_set_serial(call, ++serial);
    if (!dbus_message_marshal(call, &bytes, &length)) {
        dbus_message_unref(call);
        return;
    }
    dbus_message_unref(call);
    answer = machine_serve(machine, bytes, length, &answer_length);
    dbus_free(bytes);
    if (answer == NULL)
        return;

    reply = dbus_message_demarshal(answer, answer_length, NULL);
    dbus_free(answer);
    if (reply == NULL)
        return;
    if (dbus_message_get_error_name(reply) != NULL) {
        const char *text = "";

        dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
        printf("%s %s: %s\n", method, article, text);
    } else if (dbus_message_get_args(reply, NULL, DBUS_TYPE_UINT32, &number, DBUS_TYPE_INVALID)) {
        printf("%s %s: %u\n", method, article, number);
    }
    dbus_message_unref(reply);
}

static void office_poll(struct machine *machine)
{
    DBusMessage *message;

    while ((message = outbox_take(machine)) != NULL) {
        const char *article;
        dbus_int32_t left;

        if (dbus_message_get_args(message, NULL, DBUS_TYPE_STRING, &article, DBUS_TYPE_INT32, &left, DBUS_TYPE_INVALID))
            printf("office: %s is down to %d\n", article, left);
        dbus_message_unref(message);
    }
}

int main(void)
{
    struct machine machine = {.shelves = {{"water", 120, 3, -1}, {"crisps", 180, 5, 4}, {"nuts", 200, 1, -1}}};

    machine.outbox_tail = &machine.outbox;
    coin_box_call(&machine, "Price", "water", 0);
    coin_box_call(&machine, "Sell", "water", 200);
    coin_box_call(&machine, "Sell", "water", 150);
    coin_box_call(&machine, "Sell", "crisps", 200);
    coin_box_call(&machine, "Sell", "crisps", 180);
    coin_box_call(&machine, "Sell", "nuts", 100);
    coin_box_call(&machine, "Sell", "nuts", 200);
    office_poll(&machine);
    coin_box_call(&machine, "Sell", "nuts", 200);
    coin_box_call(&machine, "Sell", "crisps", 500);
    coin_box_call(&machine, "Refund", "crisps", 180);
    coin_box_call(&machine, "Price", "gum", 0);
    printf("%u taken, %d replies, %d errors, last call %s\n", machine.takings, machine.replies, machine.errors,
           dbus_message_get_member(machine.last_call));
    dbus_message_unref(machine.last_call);
    office_poll(&machine);
    dbus_shutdown();
    return 0;
}
