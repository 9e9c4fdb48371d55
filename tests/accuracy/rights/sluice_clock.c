/* summary: sluice gates on GStreamer's clock: entries that the clock holds while they wait, promises that answer, sticky events kept by pads, a bus whose handler takes and drops
 * track: GstMiniObject GstClockEntry GObject
 * build: gcc -O2 -g sluice_clock.c -o OUT $(pkg-config --cflags --libs gstreamer-1.0)
 */
#include <gst/gst.h>
#include <stdio.h>

/* A gate is boxed data that the clock's callbacks own a part of. */
typedef struct {
	int number, opened;
	GstStructure *plan;
	GstEvent *last;                              /* owned; replaced by gst_event_replace */
} Gate;

static GMutex lock;
static GCond changed;
static int callbacks;

static gboolean gate_tick(GstClock *clock, GstClockTime time, GstClockID id, gpointer data)
{
	Gate *gate = data;
	(void)clock, (void)id;
	GstEvent *event = gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
		gst_structure_new("gate", "number", G_TYPE_INT, gate->number, NULL));
	g_mutex_lock(&lock);
	gate->opened += GST_CLOCK_TIME_IS_VALID(time);
	gst_event_replace(&gate->last, event);
	callbacks++;
	g_cond_signal(&changed);
	g_mutex_unlock(&lock);
	gst_event_unref(event);
	return TRUE;
}

static void gate_clear(gpointer data)
{
	Gate *gate = data;
	gst_event_replace(&gate->last, NULL);
	gst_structure_free(gate->plan);
}

static void gate_release(gpointer data)
{
	g_atomic_rc_box_release_full(data, gate_clear);
}

/* One shot entries that wait asynchronously, some of them cancelled: our own reference may go at once. */
static void time_gates(GstClock *clock)
{
	enum { GATES = 6 };
	GstClockID ids[GATES];
	GstClockTime now = gst_clock_get_time(clock);
	for (int i = 0; i < GATES; i++) {
		Gate *gate = g_atomic_rc_box_new0(Gate);
		gate->number = i;
		gate->plan = gst_structure_new_empty("plan");
		gboolean far = i % 2;
		ids[i] = far ? gst_clock_new_periodic_id(clock, now + GST_SECOND * 3600, GST_SECOND)
			     : gst_clock_new_single_shot_id(clock, now + GST_MSECOND * (i + 1));
		gst_clock_id_wait_async(ids[i], gate_tick, gate, gate_release);
		if (!far)
			gst_clock_id_unref(ids[i]);          /* the clock has its own until it fired */
	}
	g_mutex_lock(&lock);
	while (callbacks < GATES / 2)
		g_cond_wait(&changed, &lock);
	g_mutex_unlock(&lock);
	for (int i = 1; i < GATES; i += 2) {
		GstClockID again = gst_clock_id_ref(ids[i]);
		gst_clock_id_unschedule(ids[i]);
		gst_clock_id_unref(ids[i]);
		gst_clock_id_unref(again);
	}
	/* One that is reused: waits twice by the same entry. */
	GstClockID id = gst_clock_new_single_shot_id(clock, gst_clock_get_time(clock) + GST_MSECOND);
	gst_clock_id_wait(id, NULL);
	if (gst_clock_single_shot_id_reinit(clock, id, gst_clock_get_time(clock) + GST_MSECOND))
		gst_clock_id_wait(id, NULL);
	gst_clock_id_unref(id);
}

static void promise_done(GstPromise *promise, gpointer data)
{
	const GstStructure *reply = gst_promise_get_reply(promise);
	if (reply)
		gst_structure_get_int(reply, "level", data);
	gst_promise_unref(promise);                  /* the reference of the one who asked */
}

/* The one who replies consumes nothing; each side puts its own. */
static int ask_level(void)
{
	int level = 0, later = 0;
	GstPromise *promise = gst_promise_new();
	GstPromise *answer = gst_promise_ref(promise);
	gst_promise_reply(answer, gst_structure_new("reply", "level", G_TYPE_INT, 40, NULL));
	gst_promise_unref(answer);
	if (gst_promise_wait(promise) == GST_PROMISE_RESULT_REPLIED)
		gst_structure_get_int(gst_promise_get_reply(promise), "level", &level);
	gst_promise_unref(promise);

	promise = gst_promise_new_with_change_func(promise_done, &later, NULL);
	answer = gst_promise_ref(promise);
	gst_promise_reply(answer, gst_structure_new("reply", "level", G_TYPE_INT, 2, NULL));
	gst_promise_unref(answer);
	promise = gst_promise_new();
	gst_promise_expire(promise);
	gst_promise_unref(promise);
	return level + later;
}

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
	(void)pad, (void)parent;
	gst_buffer_unref(buffer);
	return GST_FLOW_OK;
}

/* Sticky events: the pad holds them until it is flushed or gone; buffer lists go down as one. */
static int push_events(void)
{
	int seen = 0;
	GstPad *source = gst_object_ref_sink(gst_pad_new("source", GST_PAD_SRC));
	GstPad *sink = gst_object_ref_sink(gst_pad_new("sink", GST_PAD_SINK));
	gst_pad_set_chain_function(sink, chain);
	gst_pad_link(source, sink);
	gst_pad_set_active(sink, TRUE);
	gst_pad_set_active(source, TRUE);
	GstSegment segment;
	gst_segment_init(&segment, GST_FORMAT_TIME);
	gst_pad_push_event(source, gst_event_new_stream_start("sluice"));
	GstCaps *caps = gst_caps_new_empty_simple("application/x-water");
	GstEvent *event = gst_event_new_caps(caps);
	gst_caps_unref(caps);
	gst_pad_push_event(source, gst_event_ref(event));
	gst_pad_push_event(source, gst_event_new_segment(&segment));
	GstEvent *sticky = gst_pad_get_sticky_event(source, GST_EVENT_CAPS, 0);
	seen += sticky == event;
	gst_clear_event(&sticky);
	gst_event_unref(event);

	GstBuffer *buffer = gst_buffer_new_allocate(NULL, 16, NULL);
	GstBufferList *list = gst_buffer_list_new_sized(2);
	for (int i = 0; i < 5; i++)
		gst_buffer_list_add(list, i ? gst_buffer_ref(buffer) : gst_buffer_copy(buffer));
	gst_buffer_list_remove(list, 1, 2);
	seen += gst_pad_push_list(source, list) == GST_FLOW_OK;
	gst_pad_push(source, buffer);
	caps = gst_pad_get_current_caps(sink);
	seen += caps != NULL;
	gst_clear_caps(&caps);
	gst_pad_set_active(source, FALSE);
	gst_pad_set_active(sink, FALSE);
	gst_object_unref(source);
	gst_object_unref(sink);
	return seen;
}

static GstBusSyncReply sort_messages(GstBus *bus, GstMessage *message, gpointer data)
{
	GstMessage **kept = data;
	(void)bus;
	switch (GST_MESSAGE_TYPE(message)) {
	case GST_MESSAGE_WARNING:
		gst_message_unref(message);              /* a handler that drops puts it itself */
		return GST_BUS_DROP;
	case GST_MESSAGE_ELEMENT:
		gst_message_take(kept, message);         /* dropped too, but kept here */
		return GST_BUS_DROP;
	default:
		return GST_BUS_PASS;
	}
}

static int post_messages(void)
{
	int count = 0;
	GstMessage *kept = NULL;
	GstBus *bus = gst_bus_new();
	GstElement *bin = gst_object_ref_sink(gst_bin_new("lock"));
	gst_bus_set_sync_handler(bus, sort_messages, &kept, NULL);
	GError *error = g_error_new_literal(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "low");
	for (int i = 0; i < 4; i++) {
		gst_bus_post(bus, gst_message_new_warning(GST_OBJECT(bin), error, NULL));
		gst_bus_post(bus, gst_message_new_element(GST_OBJECT(bin), gst_structure_new_empty("level")));
		gst_bus_post(bus, gst_message_new_eos(GST_OBJECT(bin)));
	}
	g_error_free(error);
	GstMessage *peeked = gst_bus_peek(bus);
	GstMessage *popped = gst_bus_pop(bus);
	count += peeked == popped;
	gst_message_unref(peeked);
	gst_message_unref(popped);
	gst_bus_set_flushing(bus, TRUE);             /* the three that wait */
	gst_message_replace(&kept, NULL);
	count += GST_OBJECT_REFCOUNT_VALUE(bin) == 1;
	gst_object_unref(bin);
	gst_object_unref(bus);
	return count;
}

int main(int argc, char **argv)
{
	gst_init(&argc, &argv);
	GstClock *clock = g_object_new(GST_TYPE_SYSTEM_CLOCK, "name", "sluice", NULL);
	gst_object_ref_sink(clock);
	Gate *spare = g_atomic_rc_box_new0(Gate);
	spare->plan = gst_structure_new_empty("spare");
	time_gates(clock);
	int level = ask_level(), seen = push_events(), posted = post_messages();
	gate_release(spare);
	gst_object_unref(clock);
	printf("%d ticks, level %d, %d seen, %d posted\n", callbacks, level, seen, posted);
	gst_deinit();
	return level != 42 || seen != 3 || posted != 2;
}
