/* summary: GstPromises that requester, queue and worker have in turn: put by their own change function in the middle of a reply, broken off
 *          while the worker has them, chained by user data; replies that hold buffers, caps and structures in their fields
 * track: GstMiniObject
 * build: gcc -O3 -g pledge_promises.c -o OUT $(pkg-config --cflags --libs gstreamer-1.0)
 */
#include <gst/gst.h>
#include <string.h>

#define PLEDGES 12

typedef struct {
    GAsyncQueue *orders;
    GThread *thread;
    GstBuffer *stock;           /* what replies refer to parts of */
    GstCaps *caps;
} Office;

typedef struct {
    gint kept, lapsed, broken, closed;
    gsize bytes;
} Ledger;

/* User data of a change function: the ledger, and a buffer that has to be there until the promise is. */
typedef struct {
    Ledger *ledger;
    GstBuffer *collateral;
    GstPromise *after;          /* replied to as soon as this one is */
} Deed;

/* ---- the office: a thread that answers ---- */

static GstStructure *office_answer(Office *office, guint number)
{
    GstStructure *answer = gst_structure_new("answer", "number", G_TYPE_UINT, number, "caps", GST_TYPE_CAPS, office->caps, NULL);
    GstBuffer *part = gst_buffer_copy_region(office->stock, GST_BUFFER_COPY_MEMORY, number * 16, 16);
    GValue value = G_VALUE_INIT;

    g_value_init(&value, GST_TYPE_BUFFER);
    gst_value_take_buffer(&value, part);
    gst_structure_take_value(answer, "part", &value);       /* value, and with it the reference, moves into the structure */
    if (number % 4 == 3) {
        GstSample *sample = gst_sample_new(office->stock, office->caps, NULL, gst_structure_new_empty("about"));
        gst_structure_set(answer, "sample", GST_TYPE_SAMPLE, sample, NULL);
        gst_sample_unref(sample);
    }
    return answer;
}

static gpointer office_work(gpointer data)
{
    Office *office = data;
    guint number = 0;
    for (;;) {
        GstPromise *promise = g_async_queue_pop(office->orders);
        if (promise == (gpointer)office)
            return NULL;
        gst_promise_reply(promise, office_answer(office, number++ % PLEDGES));
        gst_promise_unref(promise);
    }
}

static void office_open(Office *office)
{
    GstBuffer *first = gst_buffer_new_allocate(NULL, 128, NULL);
    gst_buffer_memset(first, 0, 3, 128);
    office->stock = gst_buffer_append(first, gst_buffer_new_memdup("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64));
    office->caps = gst_caps_new_simple("application/x-pledge", "rate", G_TYPE_INT, 7, NULL);
    office->orders = g_async_queue_new();
    office->thread = g_thread_new("office", office_work, office);
}

static void office_close(Office *office)
{
    g_async_queue_push(office->orders, office);
    g_thread_join(office->thread);
    g_async_queue_unref(office->orders);
    gst_clear_buffer(&office->stock);
    gst_clear_caps(&office->caps);
}

/* ---- the requester's side ---- */

static void deed_end(gpointer data)
{
    Deed *deed = data;
    gst_buffer_unref(deed->collateral);
    if (deed->after)
        gst_promise_unref(deed->after);
    g_atomic_int_inc(&deed->ledger->closed);
    g_free(deed);
}

static gsize answer_bytes(const GstStructure *answer)
{
    const GValue *part = gst_structure_get_value(answer, "part");
    gsize bytes = part ? gst_buffer_get_size(gst_value_get_buffer(part)) : 0;
    GstSample *sample = NULL;
    if (gst_structure_get(answer, "sample", GST_TYPE_SAMPLE, &sample, NULL)) {
        bytes += gst_buffer_get_size(gst_sample_get_buffer(sample));
        gst_sample_unref(sample);
    }
    return bytes;
}

/* Called inside of reply, interrupt or expire. The requester keeps no pointer: its reference ends here, before the one that the
 * caller of gst_promise_reply() still has. */
static void deed_changed(GstPromise *promise, gpointer data)
{
    Deed *deed = data;
    switch (gst_promise_wait(promise)) {
    case GST_PROMISE_RESULT_REPLIED: {
        const GstStructure *answer = gst_promise_get_reply(promise);
        deed->ledger->bytes += answer ? answer_bytes(answer) : 0;
        g_atomic_int_inc(&deed->ledger->kept);
        if (deed->after)
            gst_promise_reply(deed->after, answer ? gst_structure_copy(answer) : NULL);
        break;
    }
    case GST_PROMISE_RESULT_EXPIRED:
        g_atomic_int_inc(&deed->ledger->lapsed);
        break;
    default:
        g_atomic_int_inc(&deed->ledger->broken);
        break;
    }
    gst_promise_unref(promise);
}

/* For promises that may expire: GStreamer then forgets the user data before it would notify, so that they end with the change. */
static void deed_changed_last(GstPromise *promise, gpointer data)
{
    deed_changed(promise, data);
    deed_end(data);
}

static Deed *deed_new(Ledger *ledger, GstBuffer *collateral, GstPromise *after)
{
    Deed *deed = g_new0(Deed, 1);
    deed->ledger = ledger;
    deed->collateral = gst_buffer_ref(collateral);
    deed->after = after;
    return deed;
}

static GstPromise *pledge_new(Ledger *ledger, GstBuffer *collateral, GstPromise *after)
{
    return gst_promise_new_with_change_func(deed_changed, deed_new(ledger, collateral, after), deed_end);
}

static void office_order(Office *office, GstPromise *promise)
{
    g_async_queue_push(office->orders, gst_promise_ref(promise));
}

/* Waits for a promise of its own and takes the caps out of the reply. */
static GstCaps *ask_caps(Office *office)
{
    GstPromise *promise = gst_promise_new();
    GstCaps *caps = NULL;
    office_order(office, promise);
    if (gst_promise_wait(promise) == GST_PROMISE_RESULT_REPLIED)
        gst_structure_get(gst_promise_get_reply(promise), "caps", GST_TYPE_CAPS, &caps, NULL);
    gst_promise_unref(promise);
    return caps;
}

int main(int argc, char **argv)
{
    Office office = { 0 };
    Ledger ledger = { 0 };
    gst_init(&argc, &argv);
    office_open(&office);

    GstBuffer *collateral = gst_buffer_new_memdup("house", 5);
    for (int i = 0; i < PLEDGES; i++)
        office_order(&office, pledge_new(&ledger, collateral, NULL));   /* no pointer stays here */

    /* A chain: the reply to the first is passed to the second, and on to one that is waited for. */
    GstPromise *last = gst_promise_new();
    GstPromise *second = pledge_new(&ledger, collateral, gst_promise_ref(last));
    GstPromise *first = pledge_new(&ledger, collateral, gst_promise_ref(second));
    office_order(&office, first);
    gboolean passed = gst_promise_wait(last) == GST_PROMISE_RESULT_REPLIED && gst_promise_get_reply(last) != NULL;
    gst_promise_unref(last);

    /* Expired and broken before anybody has answered: a reply to the broken one is thrown away. */
    GstPromise *lapsed = gst_promise_new_with_change_func(deed_changed_last, deed_new(&ledger, collateral, NULL), NULL);
    GstPromise *broken = pledge_new(&ledger, collateral, NULL);
    gst_promise_ref(lapsed);
    gst_promise_ref(broken);
    gst_promise_expire(lapsed);
    gst_promise_interrupt(broken);
    gst_promise_unref(lapsed);
    g_async_queue_push(office.orders, broken);

    /* A writable copy of shared caps, and one that is written in place. */
    GstCaps *caps = ask_caps(&office);
    GstCaps *mine = gst_caps_make_writable(gst_caps_ref(caps));
    gst_caps_set_simple(mine, "rate", G_TYPE_INT, 8, NULL);
    gst_caps_unref(caps);
    mine = gst_caps_make_writable(mine);
    gst_caps_append(mine, gst_caps_new_empty_simple("application/x-debt"));     /* takes the second one */
    guint formats = gst_caps_get_size(mine);
    gst_caps_unref(mine);

    office_close(&office);
    gboolean alone = GST_MINI_OBJECT_REFCOUNT_VALUE(collateral) == 1;
    gst_buffer_unref(collateral);
    g_print("%d kept, %d lapsed, %d broken, %d closed, %" G_GSIZE_FORMAT " bytes\n", ledger.kept, ledger.lapsed, ledger.broken,
            ledger.closed, ledger.bytes);
    gst_deinit();
    return passed && alone && formats == 2 && ledger.kept == PLEDGES + 2 && ledger.closed == PLEDGES + 4 ? 0 : 1;
}
