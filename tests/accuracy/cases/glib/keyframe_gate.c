/* summary: the chain function gate_chain() returns GST_FLOW_OK for a frame that it drops while it waits for a key frame, and does not unref the buffer it was given
 * kind: missing-put
 * counts: surplus
 * objects: 7
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O1 -g
 * exit: 0
 */
/*
 * An element for recordings of cameras: after a gap nothing goes on until the
 * next key frame. Fed and emptied by hand, through two pads.
 */
#include <gst/gst.h>
#include <stdio.h>

#define TYPE_KEYFRAME_GATE (keyframe_gate_get_type())
G_DECLARE_FINAL_TYPE(KeyframeGate, keyframe_gate, KEYFRAME, GATE, GstElement)

struct _KeyframeGate {
	GstElement parent;
	GstPad *sinkpad, *srcpad;
	gboolean waiting;
	GstBuffer *header;	/* from the caps, sent in front of a key frame */
	guint64 passed, dropped;
};

G_DEFINE_TYPE(KeyframeGate, keyframe_gate, GST_TYPE_ELEMENT)

static GstStaticPadTemplate sink_template =
	GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-camera"));
static GstStaticPadTemplate src_template =
	GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-camera"));

static GstFlowReturn gate_push_header(KeyframeGate *self, GstClockTime pts)
{
	GstBuffer *header;

	if (self->header == NULL)
		return GST_FLOW_OK;
	header = gst_buffer_copy(self->header);
	GST_BUFFER_PTS(header) = pts;
	GST_BUFFER_FLAG_SET(header, GST_BUFFER_FLAG_HEADER);
	return gst_pad_push(self->srcpad, header);
}

static GstFlowReturn gate_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
	KeyframeGate *self = KEYFRAME_GATE(parent);
	GstFlowReturn ret;

	if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED)) {
		self->waiting = TRUE;
		self->dropped++;
		gst_buffer_unref(buffer);
		return GST_FLOW_OK;
	}
	if (GST_BUFFER_IS_DISCONT(buffer))
		self->waiting = TRUE;
	if (self->waiting) {
		if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT)) {
			self->dropped++;
#ifndef BUG
			gst_buffer_unref(buffer);
#endif
			return GST_FLOW_OK;	/* GUILTY */
		}
		self->waiting = FALSE;
		ret = gate_push_header(self, GST_BUFFER_PTS(buffer));
		if (ret != GST_FLOW_OK) {
			gst_buffer_unref(buffer);
			return ret;
		}
	}
	self->passed++;
	return gst_pad_push(self->srcpad, buffer);
}

static gboolean gate_set_caps(KeyframeGate *self, GstCaps *caps)
{
	const GstStructure *s = gst_caps_get_structure(caps, 0);
	const GValue *v = gst_structure_get_value(s, "codec_data");

	gst_buffer_replace(&self->header, v != NULL ? gst_value_get_buffer(v) : NULL);
	return TRUE;
}

static gboolean gate_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
	KeyframeGate *self = KEYFRAME_GATE(parent);
	GstCaps *caps;

	switch (GST_EVENT_TYPE(event)) {
	case GST_EVENT_CAPS:
		gst_event_parse_caps(event, &caps);
		gate_set_caps(self, caps);
		break;
	case GST_EVENT_GAP:
		self->waiting = TRUE;
		gst_event_unref(event);
		return TRUE;
	default:
		break;
	}
	return gst_pad_event_default(pad, parent, event);
}

static GstStateChangeReturn gate_change_state(GstElement *element, GstStateChange transition)
{
	KeyframeGate *self = KEYFRAME_GATE(element);

	if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
		self->waiting = TRUE;
		self->passed = self->dropped = 0;
	}
	return GST_ELEMENT_CLASS(keyframe_gate_parent_class)->change_state(element, transition);
}

static void gate_finalize(GObject *o)
{
	gst_buffer_replace(&KEYFRAME_GATE(o)->header, NULL);
	G_OBJECT_CLASS(keyframe_gate_parent_class)->finalize(o);
}

static void keyframe_gate_class_init(KeyframeGateClass *klass)
{
	GstElementClass *ec = GST_ELEMENT_CLASS(klass);

	G_OBJECT_CLASS(klass)->finalize = gate_finalize;
	ec->change_state = gate_change_state;
	gst_element_class_add_static_pad_template(ec, &sink_template);
	gst_element_class_add_static_pad_template(ec, &src_template);
	gst_element_class_set_static_metadata(ec, "Key frame gate", "Filter/Video", "Waits for a key frame", "camera team");
}

static void keyframe_gate_init(KeyframeGate *self)
{
	self->sinkpad = gst_pad_new_from_static_template(&sink_template, "sink");
	gst_pad_set_chain_function(self->sinkpad, gate_chain);
	gst_pad_set_event_function(self->sinkpad, gate_event);
	gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
	self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
	gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}

/* ---- recorder: what stands at both ends ---- */

typedef struct {
	KeyframeGate *gate;
	GstPad *in, *out;
	guint64 bytes;
	guint frames, headers;
} Recorder;

static GstFlowReturn recorder_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
	Recorder *r = gst_pad_get_element_private(pad);

	if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_HEADER))
		r->headers++;
	else
		r->frames++;
	r->bytes += gst_buffer_get_size(buffer);
	gst_buffer_unref(buffer);
	return GST_FLOW_OK;
}

static void recorder_open(Recorder *r)
{
	GstPad *pad;

	r->gate = gst_object_ref_sink(g_object_new(TYPE_KEYFRAME_GATE, NULL));
	r->in = gst_object_ref_sink(gst_pad_new("camera", GST_PAD_SRC));
	r->out = gst_object_ref_sink(gst_pad_new("file", GST_PAD_SINK));
	gst_pad_set_element_private(r->out, r);
	gst_pad_set_chain_function(r->out, recorder_chain);
	pad = gst_element_get_static_pad(GST_ELEMENT(r->gate), "sink");
	gst_pad_link(r->in, pad);
	gst_object_unref(pad);
	gst_pad_link(r->gate->srcpad, r->out);
	gst_pad_set_active(r->out, TRUE);
	gst_element_set_state(GST_ELEMENT(r->gate), GST_STATE_PLAYING);
	gst_pad_set_active(r->in, TRUE);
}

static void recorder_start(Recorder *r, const char *stream)
{
	GstBuffer *codec = gst_buffer_new_memdup("\1\2\3\4", 4);
	GstCaps *caps = gst_caps_new_simple("video/x-camera", "codec_data", GST_TYPE_BUFFER, codec, NULL);
	GstSegment segment;

	gst_buffer_unref(codec);
	gst_segment_init(&segment, GST_FORMAT_TIME);
	gst_pad_push_event(r->in, gst_event_new_stream_start(stream));
	gst_pad_push_event(r->in, gst_event_new_caps(caps));
	gst_pad_push_event(r->in, gst_event_new_segment(&segment));
	gst_caps_unref(caps);
}

/* I key frame, p others, x a broken one, ! the first one after a loss, - a gap */
static void recorder_feed(Recorder *r, const char *frames)
{
	for (guint i = 0; frames[i] != '\0'; i++) {
		GstBuffer *b;

		if (frames[i] == '-') {
			gst_pad_push_event(r->in, gst_event_new_gap(i * GST_SECOND / 25, GST_SECOND / 25));
			continue;
		}
		b = gst_buffer_new_allocate(NULL, frames[i] == 'I' ? 900 : 120, NULL);
		gst_buffer_memset(b, 0, (guint8)i, gst_buffer_get_size(b));
		GST_BUFFER_PTS(b) = i * GST_SECOND / 25;
		if (frames[i] != 'I')
			GST_BUFFER_FLAG_SET(b, GST_BUFFER_FLAG_DELTA_UNIT);
		if (frames[i] == 'x')
			GST_BUFFER_FLAG_SET(b, GST_BUFFER_FLAG_CORRUPTED);
		if (frames[i] == '!')
			GST_BUFFER_FLAG_SET(b, GST_BUFFER_FLAG_DISCONT);
		gst_pad_push(r->in, b);
	}
}

static void recorder_close(Recorder *r)
{
	gst_pad_push_event(r->in, gst_event_new_eos());
	gst_pad_set_active(r->in, FALSE);
	gst_element_set_state(GST_ELEMENT(r->gate), GST_STATE_NULL);
	gst_pad_set_active(r->out, FALSE);
	gst_pad_unlink(r->in, r->gate->sinkpad);
	gst_pad_unlink(r->gate->srcpad, r->out);
	gst_object_unref(r->in);
	gst_object_unref(r->out);
	gst_object_unref(r->gate);
}

int main(int argc, char **argv)
{
	Recorder r = { 0 };

	gst_init(&argc, &argv);
	recorder_open(&r);
	recorder_start(&r, "camera-1");
	recorder_feed(&r, "ppIppppIpxpIpppp-ppIpp!pIpp");
	printf("passed %u, dropped %u; %u headers, %u bytes\n", (guint)r.gate->passed, (guint)r.gate->dropped,
	       r.headers, (guint)r.bytes);
	recorder_close(&r);
	gst_deinit();
	return 0;
}
