/*
 * summary: the panel asks an acknowledged alarm which line it came from after it has given the message back
 * kind: use-after-put
 * counts: none
 * objects: 3
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O2 -g -pthread
 */
#include <dbus/dbus.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFACE "org.example.Alarm"
#define RING 32
#define JOURNAL 16
#define LINES 3

static dbus_int32_t origin_slot = -1; /* unsigned *: the line of the field bus that a message came from */

/* ---- queue between the field bus reader and the panel ---- */

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    DBusMessage *slot[RING];
    unsigned head, tail;
    int closed;
} Ring;

static void ring_init(Ring *ring)
{
    memset(ring, 0, sizeof *ring);
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->filled, NULL);
}

/* Takes the caller's reference. */
static int ring_push(Ring *ring, DBusMessage *message)
{
    int pushed = 0;

    pthread_mutex_lock(&ring->lock);
    if (ring->head - ring->tail < RING && !ring->closed) {
        ring->slot[ring->head++ % RING] = message;
        pthread_cond_signal(&ring->filled);
        pushed = 1;
    }
    pthread_mutex_unlock(&ring->lock);
    if (!pushed)
        dbus_message_unref(message);
    return pushed;
}

static DBusMessage *ring_pop(Ring *ring)
{
    DBusMessage *message = NULL;

    pthread_mutex_lock(&ring->lock);
    while (ring->head == ring->tail && !ring->closed)
        pthread_cond_wait(&ring->filled, &ring->lock);
    if (ring->head != ring->tail)
        message = ring->slot[ring->tail++ % RING];
    pthread_mutex_unlock(&ring->lock);
    return message;
}

static void ring_close(Ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = 1;
    pthread_cond_signal(&ring->filled);
    pthread_mutex_unlock(&ring->lock);
}

/* ---- panel: alarms that stand, and a journal of what happened ---- */

typedef struct Standing {
    DBusMessage *alarm;
    struct Standing *next;
} Standing;

typedef struct {
    Ring *ring;
    Standing *standing;
    char journal[JOURNAL][96];
    unsigned entries, raised, acknowledged, unknown;
    unsigned per_line[LINES];
} Panel;

static void journal_add(Panel *panel, const char *what, DBusMessage *message)
{
    snprintf(panel->journal[panel->entries++ % JOURNAL], sizeof panel->journal[0], "%s %s %s #%u", what,
             dbus_message_get_path(message), dbus_message_get_member(message), dbus_message_get_serial(message));
}

static void panel_credit(Panel *panel, DBusMessage *alarm)
{
    const unsigned *origin = dbus_message_get_data(alarm, origin_slot);

    if (origin && *origin < LINES)
        panel->per_line[*origin]++;
}

static void panel_raise(Panel *panel, DBusMessage *alarm)
{
    Standing *standing = calloc(1, sizeof *standing);

    if (!standing)
        return;
    standing->alarm = dbus_message_ref(alarm);
    standing->next = panel->standing;
    panel->standing = standing;
    panel->raised++;
    journal_add(panel, "raised", alarm);
}

static Standing *panel_take(Panel *panel, const char *path, dbus_uint32_t serial)
{
    for (Standing **link = &panel->standing; *link; link = &(*link)->next) {
        Standing *found = *link;
        if (dbus_message_get_serial(found->alarm) == serial && dbus_message_has_path(found->alarm, path)) {
            *link = found->next;
            return found;
        }
    }
    return NULL;
}

static void panel_acknowledge(Panel *panel, DBusMessage *request)
{
    dbus_uint32_t serial = 0;
    Standing *standing;
    DBusMessage *alarm;

    if (!dbus_message_get_args(request, NULL, DBUS_TYPE_UINT32, &serial, DBUS_TYPE_INVALID)) {
        panel->unknown++;
        return;
    }
    standing = panel_take(panel, dbus_message_get_path(request), serial);
    if (!standing) {
        journal_add(panel, "unknown", request);
        panel->unknown++;
        return;
    }
    alarm = standing->alarm;
    free(standing);
    panel->acknowledged++;
    journal_add(panel, "acknowledged", alarm);
#ifdef BUG
    dbus_message_unref(alarm); /* ACCEPTED */
    panel_credit(panel, alarm); /* GUILTY */
#else
    panel_credit(panel, alarm);
    dbus_message_unref(alarm);
#endif
}

static void panel_clear(Panel *panel)
{
    while (panel->standing) {
        Standing *next = panel->standing->next;
        dbus_message_unref(panel->standing->alarm);
        free(panel->standing);
        panel->standing = next;
    }
}

static void *panel_thread(void *data)
{
    Panel *panel = data;
    DBusMessage *message;

    while ((message = ring_pop(panel->ring))) {
        if (dbus_message_is_signal(message, IFACE, "Raised"))
            panel_raise(panel, message);
        else if (dbus_message_is_method_call(message, IFACE, "Acknowledge"))
            panel_acknowledge(panel, message);
        else
            panel->unknown++;
        dbus_message_unref(message);
    }
    return NULL;
}

/* ---- field bus: frames come in as bytes ---- */

typedef struct {
    char *bytes;
    int length;
} Frame;

static int frame_from(Frame *frame, DBusMessage *message, dbus_uint32_t serial)
{
    dbus_message_set_serial(message, serial);
    int made = dbus_message_marshal(message, &frame->bytes, &frame->length);
    dbus_message_unref(message);
    return made ? 0 : -1;
}

static int raised_frame(Frame *frame, const char *path, const char *text, dbus_uint32_t serial)
{
    DBusMessage *message = dbus_message_new_signal(path, IFACE, "Raised");

    if (!message)
        return -1;
    dbus_message_append_args(message, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
    return frame_from(frame, message, serial);
}

static int acknowledge_frame(Frame *frame, const char *path, dbus_uint32_t alarm, dbus_uint32_t serial)
{
    DBusMessage *message = dbus_message_new_method_call(NULL, path, IFACE, "Acknowledge");

    if (!message)
        return -1;
    dbus_message_append_args(message, DBUS_TYPE_UINT32, &alarm, DBUS_TYPE_INVALID);
    return frame_from(frame, message, serial);
}

static DBusMessage *receive(Frame *frame, unsigned line)
{
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *message = dbus_message_demarshal(frame->bytes, frame->length, &error);
    unsigned *origin;

    dbus_free(frame->bytes);
    if (!message) {
        fprintf(stderr, "bad frame: %s\n", error.message);
        dbus_error_free(&error);
        return NULL;
    }
    origin = malloc(sizeof *origin);
    if (origin) {
        *origin = line;
        if (!dbus_message_set_data(message, origin_slot, origin, free))
            free(origin);
    }
    return message;
}

static void deliver(Ring *ring, DBusMessage **cycle, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        ring_push(ring, cycle[i]);
}

int main(void)
{
    static const char *const paths[] = {"/boiler/1", "/boiler/2", "/pump/4", "/valve/9", "/tank/3", "/tank/5"};
    static const struct { unsigned path; dbus_uint32_t alarm; } clicks[] = {{0, 1}, {2, 3}, {3, 77}, {4, 5}};
    static Panel panel;
    Ring ring;
    Frame frame;
    pthread_t thread;
    DBusMessage *cycle[RING];
    dbus_uint32_t serial = 0;
    unsigned n = 0;

    dbus_threads_init_default();
    if (!dbus_message_allocate_data_slot(&origin_slot))
        return 1;
    ring_init(&ring);
    panel.ring = &ring;
    if (pthread_create(&thread, NULL, panel_thread, &panel))
        return 1;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (raised_frame(&frame, paths[i], "limit exceeded", ++serial) == 0 && (cycle[n] = receive(&frame, i % LINES)))
            n++;
    deliver(&ring, cycle, n);
    n = 0;
    for (size_t i = 0; i < sizeof clicks / sizeof clicks[0]; i++)
        if (acknowledge_frame(&frame, paths[clicks[i].path], clicks[i].alarm, ++serial) == 0 &&
            (cycle[n] = receive(&frame, 0)))
            n++;
    deliver(&ring, cycle, n);
    ring_close(&ring);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < panel.entries && i < JOURNAL; i++)
        puts(panel.journal[i]);
    printf("%u raised, %u acknowledged (%u, %u, %u), %u unknown\n", panel.raised, panel.acknowledged,
           panel.per_line[0], panel.per_line[1], panel.per_line[2], panel.unknown);
    panel_clear(&panel);
    dbus_message_free_data_slot(&origin_slot);
    dbus_shutdown();
    return 0;
}
