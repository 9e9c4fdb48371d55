/*
 * summary: a transfer that was preempted leaves its handler connected to its own cancellable, and the handler has a reference to it
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O0 -g
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

/* One file on its way up to the satellite. It is sent in chunks whenever the antenna has a slot for it. */

typedef enum { TRANSFER_WAITING, TRANSFER_SENDING, TRANSFER_DONE, TRANSFER_ABORTED } TransferState;

#define UPLINK_TYPE_TRANSFER (uplink_transfer_get_type())
G_DECLARE_FINAL_TYPE(UplinkTransfer, uplink_transfer, UPLINK, TRANSFER, GObject)

struct _UplinkTransfer
{
    GObject parent;
    gchar *file;
    GBytes *content;
    gsize sent;
    guint priority;
    TransferState state;
    GCancellable *cancellable;
    gulong cancelled_id;
};

G_DEFINE_TYPE(UplinkTransfer, uplink_transfer, G_TYPE_OBJECT)

static void uplink_transfer_finalize(GObject *object)
{
    UplinkTransfer *self = UPLINK_TRANSFER(object);

    g_object_unref(self->cancellable);
    g_bytes_unref(self->content);
    g_free(self->file);
    G_OBJECT_CLASS(uplink_transfer_parent_class)->finalize(object);
}

static void uplink_transfer_class_init(UplinkTransferClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = uplink_transfer_finalize;
}

static void uplink_transfer_init(UplinkTransfer *self)
{
    self->cancellable = g_cancellable_new();
}

static UplinkTransfer *uplink_transfer_new(const gchar *file, gsize size, guint priority)
{
    UplinkTransfer *self = g_object_new(UPLINK_TYPE_TRANSFER, NULL);

    self->file = g_strdup(file);
    self->content = g_bytes_new_take(g_malloc0(size), size);
    self->priority = priority;
    return self;
}

static void on_cancelled(GCancellable *cancellable, gpointer user_data)
{
    UplinkTransfer *self = user_data;

    (void)cancellable;
    if (self->state == TRANSFER_WAITING || self->state == TRANSFER_SENDING) {
        self->state = TRANSFER_ABORTED;
        printf("  %s aborted at %" G_GSIZE_FORMAT "\n", self->file, self->sent);
    }
}

/* From here to uplink_transfer_unwatch the transfer stays, whoever lets go of it. */
static void uplink_transfer_watch(UplinkTransfer *self)
{
    if (self->cancelled_id == 0)
        self->cancelled_id = g_cancellable_connect(self->cancellable, G_CALLBACK(on_cancelled), g_object_ref(self), g_object_unref);
}

static void uplink_transfer_unwatch(UplinkTransfer *self)
{
    if (self->cancelled_id != 0) {
        g_cancellable_disconnect(self->cancellable, self->cancelled_id);
        self->cancelled_id = 0;
    }
}

static gboolean uplink_transfer_send(UplinkTransfer *self, gsize most)
{
    const gsize size = g_bytes_get_size(self->content);
    GBytes *chunk = g_bytes_new_from_bytes(self->content, self->sent, MIN(most, size - self->sent));

    self->state = TRANSFER_SENDING;
    self->sent += g_bytes_get_size(chunk);
    g_bytes_unref(chunk);
    if (self->sent < size)
        return FALSE;
    self->state = TRANSFER_DONE;
    return TRUE;
}

/* The antenna sees the satellite for a few slots; urgent files push the others back. */

typedef struct
{
    GQueue waiting;
    UplinkTransfer *current;
    GPtrArray *log;
    guint slots;
} Antenna;

static gint by_priority(gconstpointer a, gconstpointer b, gpointer user_data)
{
    const UplinkTransfer *left = a;
    const UplinkTransfer *right = b;

    (void)user_data;
    return (gint)right->priority - (gint)left->priority;
}

static void antenna_log(Antenna *antenna, UplinkTransfer *transfer, const gchar *what)
{
    g_ptr_array_add(antenna->log, g_strdup_printf("slot %u: %s %s", antenna->slots, transfer->file, what));
}

static void antenna_queue(Antenna *antenna, UplinkTransfer *transfer)
{
    g_queue_insert_sorted(&antenna->waiting, g_object_ref(transfer), by_priority, NULL);
}

static void antenna_take_next(Antenna *antenna)
{
    antenna->current = g_queue_pop_head(&antenna->waiting);
    if (antenna->current != NULL) {
        uplink_transfer_watch(antenna->current);
        antenna_log(antenna, antenna->current, "begins");
    }
}

static void antenna_finish_current(Antenna *antenna, const gchar *what)
{
    antenna_log(antenna, antenna->current, what);
    uplink_transfer_unwatch(antenna->current);
    g_clear_object(&antenna->current);
}

/* Gives the slot to a more urgent file. The current one goes back into the queue, or is given up if it has hardly begun. */
static void antenna_preempt(Antenna *antenna)
{
    UplinkTransfer *pushed = g_steal_pointer(&antenna->current);

    if (pushed->sent * 4 < g_bytes_get_size(pushed->content)) {
        antenna_log(antenna, pushed, "given up");
        pushed->state = TRANSFER_ABORTED; /* ACCEPTED */
#ifndef BUG
        uplink_transfer_unwatch(pushed);
#endif
        g_object_unref(pushed); /* GUILTY */
    } else {
        antenna_log(antenna, pushed, "pushed back");
        pushed->state = TRANSFER_WAITING;
        uplink_transfer_unwatch(pushed);
        antenna_queue(antenna, pushed);
        g_object_unref(pushed);
    }
    antenna_take_next(antenna);
}

static void antenna_run_slot(Antenna *antenna)
{
    antenna->slots++;
    if (antenna->current == NULL)
        antenna_take_next(antenna);
    if (antenna->current == NULL)
        return;

    UplinkTransfer *head = g_queue_peek_head(&antenna->waiting);

    if (head != NULL && head->priority > antenna->current->priority + 2)
        antenna_preempt(antenna);
    if (antenna->current->state == TRANSFER_ABORTED)
        antenna_finish_current(antenna, "skipped");
    else if (uplink_transfer_send(antenna->current, 1000))
        antenna_finish_current(antenna, "complete");
}

static void antenna_close(Antenna *antenna)
{
    UplinkTransfer *transfer;

    if (antenna->current != NULL)
        antenna_finish_current(antenna, "interrupted");
    while ((transfer = g_queue_pop_head(&antenna->waiting)) != NULL) {
        antenna_log(antenna, transfer, "left for the next pass");
        g_object_unref(transfer);
    }
}

static UplinkTransfer *submit(Antenna *antenna, const gchar *file, gsize size, guint priority)
{
    UplinkTransfer *transfer = uplink_transfer_new(file, size, priority);

    antenna_queue(antenna, transfer);
    return transfer;
}

int main(void)
{
    Antenna antenna = {.waiting = G_QUEUE_INIT, .log = g_ptr_array_new_with_free_func(g_free)};
    UplinkTransfer *firmware = submit(&antenna, "firmware.img", 5200, 3);
    UplinkTransfer *almanac = submit(&antenna, "almanac.dat", 900, 5);
    UplinkTransfer *schedule = submit(&antenna, "schedule.txt", 1500, 4);

    for (int i = 0; i < 5; i++)
        antenna_run_slot(&antenna);
    g_object_unref(almanac);

    /* firmware.img has more than a quarter of its bytes up there by now */
    UplinkTransfer *orbit = submit(&antenna, "orbit-correction.bin", 1200, 8);
    for (int i = 0; i < 2; i++)
        antenna_run_slot(&antenna);
    UplinkTransfer *pictures = submit(&antenna, "picture-request.lst", 2600, 4);
    for (int i = 0; i < 2; i++)
        antenna_run_slot(&antenna);
    g_cancellable_cancel(pictures->cancellable);
    for (int i = 0; i < 4; i++)
        antenna_run_slot(&antenna);

    UplinkTransfer *maps = submit(&antenna, "ground-maps.tar", 8000, 1);
    for (int i = 0; i < 2; i++)
        antenna_run_slot(&antenna);
    UplinkTransfer *safe_mode = submit(&antenna, "safe-mode.cmd", 300, 9);
    antenna_run_slot(&antenna);
    UplinkTransfer *survey = submit(&antenna, "ice-survey.csv", 3300, 2);
    antenna_run_slot(&antenna);
    g_object_unref(submit(&antenna, "greeting.wav", 400, 1));

    antenna_close(&antenna);
    for (guint i = 0; i < antenna.log->len; i++)
        printf("%s\n", (const gchar *)g_ptr_array_index(antenna.log, i));
    printf("%u slots, firmware %" G_GSIZE_FORMAT ", maps %" G_GSIZE_FORMAT "\n", antenna.slots, firmware->sent, maps->sent);

    g_object_unref(firmware);
    g_object_unref(schedule);
    g_object_unref(orbit);
    g_object_unref(pictures);
    g_object_unref(maps);
    g_object_unref(survey);
    g_object_unref(safe_mode);
    g_ptr_array_unref(antenna.log);
    return 0;
}
