/* summary: a toll camera on GStreamer: wrapped memory with destroy notify, pad probes that drop and replace, samples kept beyond the stream
 * track: GstMiniObject GObject
 * build: gcc -O0 -g toll_camera.c -o OUT $(pkg-config --cflags --libs gstreamer-app-1.0)
 */
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

enum { SHOTS = 24, BYTES = 64 };

static gint plates_alive;

static void plate_free(gpointer plate)
{
	g_atomic_int_add(&plates_alive, -1);
	g_free(plate);
}

static GstBuffer *shoot(int number)
{
	guint8 *plate = g_malloc(BYTES);
	memset(plate, number, BYTES);
	g_atomic_int_inc(&plates_alive);
	GstBuffer *shot = gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, plate, BYTES, 0, BYTES, plate, plate_free);
	GST_BUFFER_PTS(shot) = number * GST_MSECOND;
	return shot;
}

/* A buffer whose memory lies in another buffer: the parent lives as long as the window. */
static GstBuffer *window_of(GstBuffer *shot, gsize offset, gsize size)
{
	GstBuffer *window = gst_buffer_new();
	GstMapInfo *map = g_new(GstMapInfo, 1);
	gst_buffer_map(shot, map, GST_MAP_READ);
	gst_buffer_append_memory(window, gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, map->data + offset, size, 0, size,
	                                                         NULL, NULL));
	gst_buffer_add_parent_buffer_meta(window, shot);
	gst_buffer_unmap(shot, map);
	g_free(map);
	GST_BUFFER_PTS(window) = GST_BUFFER_PTS(shot);
	return window;
}

typedef struct { int dropped, replaced, queries; GstBuffer *evidence; } Filter;

/* The probe owns what it takes out of the info: a dropped buffer it puts, a replaced one it swaps. */
static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
	(void)pad;
	Filter *filter = data;
	GstBuffer *shot = GST_PAD_PROBE_INFO_BUFFER(info);
	int number = GST_BUFFER_PTS(shot) / GST_MSECOND;
	if (number % 6 == 5) {
		filter->dropped++;
		return GST_PAD_PROBE_DROP;               /* GStreamer puts it */
	}
	if (number % 6 == 4) {
		filter->dropped++;
		gst_buffer_replace(&filter->evidence, shot);
		gst_buffer_unref(shot);
		GST_PAD_PROBE_INFO_DATA(info) = NULL;    /* put by us */
		return GST_PAD_PROBE_HANDLED;
	}
	if (number % 6 == 3) {
		GstBuffer *window = window_of(shot, 8, 16);
		filter->replaced++;
		gst_buffer_unref(shot);
		GST_PAD_PROBE_INFO_DATA(info) = window;
		return GST_PAD_PROBE_OK;
	}
	if (number % 6 == 2) {
		/* Writable at once if nobody else has it; else a copy takes its place. */
		GstBuffer *mine = gst_buffer_make_writable(shot);
		GST_BUFFER_OFFSET(mine) = number;
		GST_PAD_PROBE_INFO_DATA(info) = mine;
	}
	return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
	(void)pad;
	GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
	if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
		return GST_PAD_PROBE_OK;
	GstCaps *caps;
	gst_event_parse_caps(event, &caps);              /* borrowed */
	gst_caps_replace(data, caps);
	return GST_PAD_PROBE_REMOVE;
}

/* What the bus watch needs has a count of its own, an atomic box. */
typedef struct { GMainLoop *loop; GstMessage *end; int elements; } Watch;

static void watch_clear(gpointer data)
{
	Watch *watch = data;
	g_main_loop_unref(watch->loop);
	if (watch->end)
		gst_message_unref(watch->end);
}
static void watch_unref(gpointer watch) { g_atomic_rc_box_release_full(watch, watch_clear); }

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
	(void)bus;
	Watch *watch = data;
	switch (GST_MESSAGE_TYPE(message)) {
	case GST_MESSAGE_ELEMENT:
		watch->elements++;
		return G_SOURCE_CONTINUE;
	case GST_MESSAGE_EOS:
	case GST_MESSAGE_ERROR:
		watch->end = gst_message_ref(message);
		g_main_loop_quit(watch->loop);
		return G_SOURCE_REMOVE;                  /* its watch puts the box afterwards */
	default:
		return G_SOURCE_CONTINUE;
	}
}

static GstBusSyncReply on_sync(GstBus *bus, GstMessage *message, gpointer data)
{
	(void)bus;
	gint *states = data;
	if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_STATE_CHANGED) {
		g_atomic_int_inc(states);
		gst_message_unref(message);              /* DROP: it is ours */
		return GST_BUS_DROP;
	}
	return GST_BUS_PASS;
}

typedef struct { GMutex lock; GQueue samples; int seen; } Archive;

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
	Archive *archive = data;
	GstSample *sample = gst_app_sink_pull_sample(sink);
	if (!sample)
		return GST_FLOW_EOS;
	g_mutex_lock(&archive->lock);
	archive->seen++;
	g_queue_push_tail(&archive->samples, sample);
	GstSample *oldest = archive->samples.length > 5 ? g_queue_pop_head(&archive->samples) : NULL;
	g_mutex_unlock(&archive->lock);
	if (oldest)
		gst_sample_unref(oldest);
	if (archive->seen % 4 == 0) {
		GstStructure *details = gst_structure_new("toll", "sample", GST_TYPE_SAMPLE, sample, NULL);
		gst_element_post_message(GST_ELEMENT(sink), gst_message_new_element(GST_OBJECT(sink), details));
	}
	return GST_FLOW_OK;
}

static void feed(GstAppSrc *source)
{
	GstBufferList *list = gst_buffer_list_new();
	for (int i = 0; i < SHOTS; i++) {
		GstBuffer *shot = shoot(i);
		if (i % 8 == 2) {
			gst_buffer_list_add(list, shot);     /* taken */
		} else if (i % 8 == 3) {
			GstCaps *caps = gst_app_src_get_caps(source);
			GstSample *sample = gst_sample_new(shot, caps, NULL, NULL);
			gst_app_src_push_sample(source, sample);   /* not taken */
			gst_sample_unref(sample);
			gst_caps_unref(caps);
			gst_buffer_unref(shot);
		} else
			gst_app_src_push_buffer(source, shot);     /* taken, whatever it returns */
	}
	gst_app_src_push_buffer_list(source, list);
	gst_app_src_end_of_stream(source);
	/* After the end: refused, and taken all the same. */
	if (gst_app_src_push_buffer(source, shoot(SHOTS)) == GST_FLOW_OK)
		printf("taken after the end?\n");
}

static int run(void)
{
	Filter filter = { 0 };
	Archive archive = { .seen = 0 };
	GstCaps *seen_caps = NULL;
	gint states = 0;
	g_mutex_init(&archive.lock);

	GstElement *pipeline = gst_object_ref_sink(gst_pipeline_new("toll"));
	GstElement *source = gst_element_factory_make("appsrc", "camera");
	GstElement *identity = gst_element_factory_make("identity", "filter");
	GstElement *sink = gst_element_factory_make("appsink", "archive");
	if (!source || !identity || !sink)
		return 2;
	gst_bin_add_many(GST_BIN(pipeline), source, identity, sink, NULL);   /* sinks the floating ones */
	gst_element_link_many(source, identity, sink, NULL);

	GstCaps *caps = gst_caps_new_simple("application/x-plate", "lane", G_TYPE_INT, 1, NULL);
	g_object_set(source, "caps", caps, "format", GST_FORMAT_TIME, NULL);
	gst_caps_unref(caps);
	g_object_set(sink, "sync", FALSE, NULL);
	GstAppSinkCallbacks callbacks = { .new_sample = on_sample };
	gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, &archive, NULL);

	GstPad *pad = gst_element_get_static_pad(identity, "src");
	gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, &filter, NULL);
	gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, &seen_caps, NULL);
	gst_object_unref(pad);

	Watch *watch = g_atomic_rc_box_new0(Watch);
	watch->loop = g_main_loop_new(NULL, FALSE);
	GstBus *bus = gst_element_get_bus(pipeline);
	gst_bus_set_sync_handler(bus, on_sync, &states, NULL);
	gst_bus_add_watch_full(bus, G_PRIORITY_DEFAULT, on_message, g_atomic_rc_box_acquire(watch), watch_unref);
	gst_object_unref(bus);

	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	feed(GST_APP_SRC(source));                       /* borrowed: the pipeline has it */
	g_main_loop_run(watch->loop);
	gst_element_set_state(pipeline, GST_STATE_NULL);

	printf("%s from %s; %d element messages, states %s\n", GST_MESSAGE_TYPE_NAME(watch->end),
	       GST_MESSAGE_SRC_NAME(watch->end), watch->elements, g_atomic_int_get(&states) ? "seen" : "unseen");
	watch_unref(watch);                              /* with the message, which holds the pipeline */
	gst_object_unref(pipeline);

	/* The samples outlive pipeline, pads and caps events. */
	GstSample *sample;
	int bytes = 0;
	while ((sample = g_queue_pop_head(&archive.samples))) {
		bytes += gst_buffer_get_size(gst_sample_get_buffer(sample));
		if (!gst_caps_is_equal(gst_sample_get_caps(sample), seen_caps))
			printf("other caps\n");
		gst_sample_unref(sample);
	}
	printf("seen %d, dropped %d, replaced %d; %d bytes in the archive\n", archive.seen, filter.dropped, filter.replaced,
	       bytes);
	gst_buffer_replace(&filter.evidence, NULL);
	gst_caps_replace(&seen_caps, NULL);
	g_mutex_clear(&archive.lock);
	return 0;
}

int main(int argc, char **argv)
{
	gst_init(&argc, &argv);
	int result = run();
	gst_deinit();
	printf("%d plates alive\n", g_atomic_int_get(&plates_alive));
	return result || plates_alive;
}
