/* summary: the reply to a call for a room that is full is put by hand though it has a cleanup attribute
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O2 -g
 */
#include <dbus/dbus.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/clinic/ward"
#define INTERFACE "org.clinic.Ward1"
#define ROOMS 12
#define MAX_QUEUE 64

struct room {
    unsigned beds, taken;
    unsigned rings;
    DBusMessage *last; /* the call that is not answered by a nurse yet */
};

struct ward {
    struct room rooms[ROOMS];
    unsigned handled, refused;
    dbus_uint32_t serial;
};

struct queue {
    DBusMessage *messages[MAX_QUEUE];
    unsigned head, tail;
};

static void message_unrefp(DBusMessage **message)
{
    if (*message)
        dbus_message_unref(*message);
}

#define _cleanup_message_ __attribute__((cleanup(message_unrefp)))

static DBusMessage *steal(DBusMessage **message)
{
    DBusMessage *result = *message;
    *message = NULL;
    return result;
}

/* Takes the reference. */
static void queue_push(struct queue *queue, DBusMessage *message)
{
    if (queue->tail == MAX_QUEUE)
        abort();
    queue->messages[queue->tail++] = message;
}

static DBusMessage *queue_pop(struct queue *queue)
{
    return queue->head < queue->tail ? queue->messages[queue->head++] : NULL;
}

static bool append_text(DBusMessage *message, const char *text)
{
    return dbus_message_append_args(message, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
}

static bool room_of(struct ward *ward, DBusMessage *call, dbus_uint32_t *number, struct room **room)
{
    if (!dbus_message_get_args(call, NULL, DBUS_TYPE_UINT32, number, DBUS_TYPE_INVALID))
        return false;
    if (*number >= ROOMS)
        return false;
    *room = &ward->rooms[*number];
    return true;
}

static DBusMessage *refuse(DBusMessage *call, const char *why)
{
    return dbus_message_new_error(call, INTERFACE ".Error.Refused", why);
}

static DBusMessage *ward_ring(struct ward *ward, DBusMessage *call)
{
    _cleanup_message_ DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_uint32_t number;
    struct room *room;

    if (!reply)
        abort();
    if (!room_of(ward, call, &number, &room))
        return refuse(call, "no such room");
    room->rings++;
    if (room->last)
        dbus_message_unref(room->last);
    room->last = dbus_message_ref(call);
    if (!dbus_message_append_args(reply, DBUS_TYPE_UINT32, &room->rings, DBUS_TYPE_INVALID))
        return NULL;
    return steal(&reply);
}

static DBusMessage *ward_admit(struct ward *ward, DBusMessage *call)
{
    _cleanup_message_ DBusMessage *reply = dbus_message_new_method_return(call); /* ACCEPTED */
    dbus_uint32_t number;
    struct room *room;

    if (!reply)
        abort();
    if (!room_of(ward, call, &number, &room))
        return refuse(call, "no such room");
    if (room->taken >= room->beds) {
        DBusMessage *refusal = refuse(call, "no bed left");
#ifdef BUG
        dbus_message_unref(reply); /* GUILTY */
#endif
        return refusal;
    }
    room->taken++;
    if (!append_text(reply, room->taken == room->beds ? "the last bed" : "admitted"))
        return NULL;
    return steal(&reply);
}

static DBusMessage *ward_answer(struct ward *ward, DBusMessage *call)
{
    _cleanup_message_ DBusMessage *reply = NULL;
    dbus_uint32_t number, serial;
    struct room *room;

    if (!room_of(ward, call, &number, &room))
        return refuse(call, "no such room");
    if (!room->last)
        return refuse(call, "nobody rang");
    reply = dbus_message_new_method_return(call);
    serial = dbus_message_get_serial(room->last);
    dbus_message_unref(room->last);
    room->last = NULL;
    if (!reply || !dbus_message_append_args(reply, DBUS_TYPE_UINT32, &serial, DBUS_TYPE_INVALID))
        return NULL;
    return steal(&reply);
}

static const struct {
    const char *member;
    DBusMessage *(*handle)(struct ward *ward, DBusMessage *call);
} methods[] = {
    { "Ring", ward_ring },
    { "Admit", ward_admit },
    { "Answer", ward_answer },
};

/* A new reference. */
static DBusMessage *ward_dispatch(struct ward *ward, DBusMessage *call)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (dbus_message_is_method_call(call, INTERFACE, methods[i].member))
            return methods[i].handle(ward, call);
    }
    return dbus_message_new_error(call, DBUS_ERROR_UNKNOWN_METHOD, dbus_message_get_member(call));
}

static void print_reply(DBusMessage *call, DBusMessage *reply)
{
    const char *text = "";
    dbus_uint32_t number;

    if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR) {
        dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
        printf("%s #%u: refused, %s\n", dbus_message_get_member(call), dbus_message_get_serial(call), text);
    } else if (dbus_message_get_args(reply, NULL, DBUS_TYPE_UINT32, &number, DBUS_TYPE_INVALID)) {
        printf("%s #%u: %u\n", dbus_message_get_member(call), dbus_message_get_serial(call), number);
    } else if (dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID)) {
        printf("%s #%u: %s\n", dbus_message_get_member(call), dbus_message_get_serial(call), text);
    }
}

static void ward_call(struct ward *ward, struct queue *queue, const char *member, dbus_uint32_t room)
{
    DBusMessage *call = dbus_message_new_method_call(NULL, PATH, INTERFACE, member);

    if (!call || !dbus_message_append_args(call, DBUS_TYPE_UINT32, &room, DBUS_TYPE_INVALID))
        abort();
    dbus_message_set_serial(call, ++ward->serial);
    queue_push(queue, call);
}

static void ward_run(struct ward *ward, struct queue *calls, struct queue *sent)
{
    DBusMessage *call;

    while ((call = queue_pop(calls))) {
        DBusMessage *reply = ward_dispatch(ward, call);
        if (reply) {
            if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR)
                ward->refused++;
            else
                ward->handled++;
            print_reply(call, reply);
            queue_push(sent, reply);
        }
        dbus_message_unref(call);
    }
}

static void ward_close(struct ward *ward)
{
    for (unsigned i = 0; i < ROOMS; i++) {
        if (ward->rooms[i].last)
            dbus_message_unref(ward->rooms[i].last);
    }
}

int main(void)
{
    struct ward ward = { .serial = 100 };
    struct queue calls = { .head = 0 }, sent = { .head = 0 };
    DBusMessage *message;

    for (unsigned i = 0; i < ROOMS; i++)
        ward.rooms[i].beds = i % 3 + 1;
    for (unsigned i = 0; i < ROOMS; i++)
        ward_call(&ward, &calls, "Admit", i);
    for (unsigned i = 0; i < 10; i++)
        ward_call(&ward, &calls, i % 4 == 3 ? "Answer" : "Ring", (i * 5) % 14);
    ward_call(&ward, &calls, "Dismiss", 4);
    for (unsigned i = 0; i < 3; i++)
        ward_call(&ward, &calls, "Admit", 4 + i); /* room 6 has one bed only */
    for (unsigned i = 0; i < 4; i++)
        ward_call(&ward, &calls, "Answer", i * 5 % ROOMS);
    ward_run(&ward, &calls, &sent);

    while ((message = queue_pop(&sent)))
        dbus_message_unref(message);
    printf("%u handled, %u refused\n", ward.handled, ward.refused);
    ward_close(&ward);
    dbus_shutdown();
    return 0;
}
