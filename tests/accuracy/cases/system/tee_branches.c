/* summary: branch_attach() releases the request pad of the tee when the link fails, but does not unref it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "request pad released but not unreffed on the error path"
 */
/*
 * One source, many recorders: recorders come and go as branches of a tee.
 */
#include <gst/gst.h>
#include <stdio.h>

typedef struct {
	char name[24];
	GstElement *queue;	/* owned by the bin */
	GstElement *filter;	/* owned by the bin, may be NULL */
	GstElement *sink;	/* owned by the bin */
	GstPad *tee_pad;	/* owned; NULL when detached */
	guint64 bytes;
	guint buffers;
} Branch;

typedef struct {
	GstElement *pipeline;
	GstElement *source;
	GstElement *tee;
	GPtrArray *branches;
	int failed;
} Recorder;

static void branch_free(gpointer data)
{
	Branch *b = data;

	if (b->tee_pad)
		gst_object_unref(b->tee_pad);
	g_free(b);
}

static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
	Branch *b = data;

	(void)pad;
	b->bytes += gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info));
	b->buffers++;
	return GST_PAD_PROBE_OK;
}

static Branch *branch_new(Recorder *r, const char *format, int i)
{
	Branch *b = g_new0(Branch, 1);
	GstPad *pad;

	g_snprintf(b->name, sizeof b->name, "branch%d", i);
	b->queue = gst_element_factory_make("queue", b->name);
	b->sink = gst_element_factory_make("fakesink", NULL);
	g_object_set(b->sink, "sync", FALSE, "async", FALSE, NULL);
	gst_bin_add_many(GST_BIN(r->pipeline), b->queue, b->sink, NULL);
	if (format) {
		GstCaps *caps = gst_caps_new_empty_simple(format);

		b->filter = gst_element_factory_make("capsfilter", NULL);
		g_object_set(b->filter, "caps", caps, NULL);
		gst_caps_unref(caps);
		gst_bin_add(GST_BIN(r->pipeline), b->filter);
		gst_element_link_many(b->queue, b->filter, b->sink, NULL);
	} else {
		gst_element_link(b->queue, b->sink);
	}
	pad = gst_element_get_static_pad(b->sink, "sink");
	gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, b, NULL);
	gst_object_unref(pad);
	return b;
}

static gboolean pad_takes(GstPad *pad, const char *format)
{
	GstCaps *want = gst_caps_new_empty_simple(format);
	GstCaps *have = gst_pad_query_caps(pad, NULL);
	gboolean fits = gst_caps_can_intersect(want, have);

	gst_caps_unref(have);
	gst_caps_unref(want);
	return fits;
}

/* Connects the branch to the tee, which makes a new pad for it. */
static gboolean branch_attach(Recorder *r, Branch *b)
{
	GstPad *sinkpad = gst_element_get_static_pad(b->queue, "sink");
	GstPad *pad;

	if (gst_pad_is_linked(sinkpad)) {
		gst_object_unref(sinkpad);
		return TRUE;
	}
	pad = gst_element_request_pad_simple(r->tee, "src_%u");	/* ACCEPTED */
	if (pad == NULL) {
		gst_object_unref(sinkpad);
		return FALSE;
	}
	if (!pad_takes(sinkpad, "audio/x-raw") || gst_pad_link(pad, sinkpad) != GST_PAD_LINK_OK) {
		gst_element_release_request_pad(r->tee, pad);	/* ACCEPTED */
#ifndef BUG
		gst_object_unref(pad);
#endif
		gst_object_unref(sinkpad);
		return FALSE;	/* GUILTY */
	}
	b->tee_pad = pad;
	gst_object_unref(sinkpad);
	return TRUE;
}

static void branch_detach(Recorder *r, Branch *b)
{
	GstPad *sinkpad;

	if (b->tee_pad == NULL)
		return;
	sinkpad = gst_pad_get_peer(b->tee_pad);
	if (sinkpad) {
		gst_pad_unlink(b->tee_pad, sinkpad);
		gst_object_unref(sinkpad);
	}
	gst_element_release_request_pad(r->tee, b->tee_pad);
	gst_object_unref(b->tee_pad);
	b->tee_pad = NULL;
}

/* A pipeline waits for all its sinks, so the ones without data have to go. */
static void branch_remove(Recorder *r, Branch *b)
{
	GstBin *bin = GST_BIN(r->pipeline);

	branch_detach(r, b);
	gst_bin_remove_many(bin, b->queue, b->sink, NULL);
	if (b->filter)
		gst_bin_remove(bin, b->filter);
	b->queue = b->filter = b->sink = NULL;
}

static gboolean recorder_add(Recorder *r, const char *format)
{
	Branch *b = branch_new(r, format, (int)r->branches->len);

	g_ptr_array_add(r->branches, b);
	if (branch_attach(r, b))
		return TRUE;
	branch_remove(r, b);
	r->failed++;
	return FALSE;
}

static gboolean recorder_open(Recorder *r)
{
	GstElement *filter = gst_element_factory_make("capsfilter", NULL);
	GstCaps *caps = gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, "S16LE",
					    "rate", G_TYPE_INT, 8000, "channels", G_TYPE_INT, 1,
					    "layout", G_TYPE_STRING, "interleaved", NULL);

	r->pipeline = gst_pipeline_new("recorder");
	r->source = gst_element_factory_make("fakesrc", "source");
	r->tee = gst_element_factory_make("tee", "tee");
	r->branches = g_ptr_array_new_with_free_func(branch_free);
	r->failed = 0;
	g_object_set(filter, "caps", caps, NULL);
	gst_caps_unref(caps);
	g_object_set(r->source, "num-buffers", 40, "sizetype", 2, "sizemax", 160, NULL);
	g_object_set(r->tee, "allow-not-linked", TRUE, NULL);
	gst_bin_add_many(GST_BIN(r->pipeline), r->source, filter, r->tee, NULL);
	return gst_element_link_many(r->source, filter, r->tee, NULL);
}

/* Runs to the end of the stream. */
static gboolean recorder_run(Recorder *r)
{
	GstBus *bus = gst_element_get_bus(r->pipeline);
	GstMessage *msg;
	gboolean ok;

	gst_element_set_state(r->pipeline, GST_STATE_PLAYING);
	msg = gst_bus_timed_pop_filtered(bus, 5 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
	ok = msg && GST_MESSAGE_TYPE(msg) == GST_MESSAGE_EOS;
	if (msg)
		gst_message_unref(msg);
	gst_element_set_state(r->pipeline, GST_STATE_NULL);
	gst_bus_set_flushing(bus, TRUE);
	gst_object_unref(bus);
	return ok;
}

static void recorder_close(Recorder *r)
{
	for (guint i = 0; i < r->branches->len; i++)
		branch_detach(r, g_ptr_array_index(r->branches, i));
	gst_object_unref(r->pipeline);
	g_ptr_array_unref(r->branches);
}

int main(int argc, char **argv)
{
	Recorder r;
	gboolean ok;

	gst_init(&argc, &argv);
	if (!recorder_open(&r)) {
		fprintf(stderr, "cannot build the pipeline\n");
		return 1;
	}
	for (int i = 0; i < 14; i++)
		recorder_add(&r, i % 5 == 3 ? "video/x-raw" : i % 2 ? "audio/x-raw" : NULL);
	/* Two recorders change their mind before it starts. */
	branch_remove(&r, g_ptr_array_index(r.branches, 2));
	branch_detach(&r, g_ptr_array_index(r.branches, 7));
	branch_attach(&r, g_ptr_array_index(r.branches, 7));

	ok = recorder_run(&r);
	printf("%s, %u branches, %d failed\n", ok ? "complete" : "broken",
	       r.branches->len, r.failed);
	for (guint i = 0; i < r.branches->len; i++) {
		const Branch *b = g_ptr_array_index(r.branches, i);

		printf("%s: %u buffers, %" G_GUINT64_FORMAT " bytes\n", b->name, b->buffers, b->bytes);
	}
	recorder_close(&r);
	gst_deinit();
	return ok ? 0 : 1;
}
