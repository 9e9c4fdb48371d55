/* summary: caption_conv_sink_event() writes the caps of a CAPS event over those that the element still holds, without unreffing the old ones
 * kind: overwritten
 * counts: surplus
 * objects: 5
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * caption_conv, an element that brings captions of several formats into one,
 * and a small harness that feeds it with the captions of a few programmes.
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define TYPE_CAPTION_CONV (caption_conv_get_type())
G_DECLARE_FINAL_TYPE(CaptionConv, caption_conv, CAPTION, CONV, GstElement)

typedef enum {
	FORMAT_NONE,
	FORMAT_PLAIN,
	FORMAT_MARKUP,
	FORMAT_CEA,
} CaptionFormat;

struct _CaptionConv {
	GstElement parent;
	GstPad *sinkpad;
	GstPad *srcpad;
	GstCaps *in_caps;	/* what comes in now, for the log and for queries */
	CaptionFormat format;
	gint width;
	guint64 converted;
	guint64 dropped;
};

G_DEFINE_TYPE(CaptionConv, caption_conv, GST_TYPE_ELEMENT)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
	GST_STATIC_CAPS("text/x-plain; text/x-markup; closedcaption/x-cea"));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
	GST_STATIC_CAPS("text/x-plain, width = (int) [ 1, 80 ]"));

static CaptionFormat
caption_format(const GstCaps *caps)
{
	const GstStructure *structure = gst_caps_get_structure(caps, 0);

	if (gst_structure_has_name(structure, "text/x-plain"))
		return FORMAT_PLAIN;
	if (gst_structure_has_name(structure, "text/x-markup"))
		return FORMAT_MARKUP;
	if (gst_structure_has_name(structure, "closedcaption/x-cea"))
		return FORMAT_CEA;
	return FORMAT_NONE;
}

static gboolean
caption_conv_negotiate(CaptionConv *self)
{
	GstCaps *allowed, *out;
	gboolean ok;

	allowed = gst_pad_get_allowed_caps(self->srcpad);
	if (!allowed)
		return FALSE;
	if (gst_caps_is_empty(allowed)) {
		gst_caps_unref(allowed);
		return FALSE;
	}
	out = gst_caps_truncate(allowed);
	out = gst_caps_make_writable(out);
	gst_structure_fixate_field_nearest_int(gst_caps_get_structure(out, 0), "width",
					       self->format == FORMAT_CEA ? 32 : 40);
	gst_structure_get_int(gst_caps_get_structure(out, 0), "width", &self->width);
	ok = gst_pad_push_event(self->srcpad, gst_event_new_caps(out));
	gst_caps_unref(out);
	return ok;
}

static gboolean
caption_conv_sink_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
	CaptionConv *self = CAPTION_CONV(parent);

	switch (GST_EVENT_TYPE(event)) {
	case GST_EVENT_CAPS: {
		GstCaps *caps;

		gst_event_parse_caps(event, &caps);
		self->format = caption_format(caps);
#ifdef BUG
		self->in_caps = gst_caps_ref(caps); /* GUILTY */
#else
		gst_caps_replace(&self->in_caps, caps);
#endif
		gst_event_unref(event);
		return self->format != FORMAT_NONE && caption_conv_negotiate(self);
	}
	default:
		return gst_pad_event_default(pad, parent, event);
	}
}

/* The text of one caption, without markup, in lines of our width. */
static GString *
caption_text(CaptionConv *self, const gchar *data, gsize size)
{
	GString *text = g_string_sized_new(size);
	gboolean tag = FALSE;
	gsize i;

	for (i = 0; i < size; i++) {
		gchar c = data[i];

		if (self->format == FORMAT_CEA && (c & 0x80))
			continue;
		if (self->format == FORMAT_MARKUP && (c == '<' || tag)) {
			tag = c != '>';
			continue;
		}
		if (self->width && text->len % (guint)self->width == (guint)self->width - 1)
			g_string_append_c(text, '\n');
		g_string_append_c(text, c);
	}
	return text;
}

static GstFlowReturn
caption_conv_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
	CaptionConv *self = CAPTION_CONV(parent);
	GstMapInfo map;
	GstBuffer *out;
	GString *text;
	gsize length;

	(void)pad;
	if (!self->in_caps) {
		gst_buffer_unref(buffer);
		return GST_FLOW_NOT_NEGOTIATED;
	}
	if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_GAP) || !gst_buffer_map(buffer, &map, GST_MAP_READ)) {
		self->dropped++;
		gst_buffer_unref(buffer);
		return GST_FLOW_OK;
	}
	text = caption_text(self, (const gchar *)map.data, map.size);
	gst_buffer_unmap(buffer, &map);

	length = text->len;
	out = gst_buffer_new_wrapped(g_string_free(text, FALSE), length);
	gst_buffer_copy_into(out, buffer, GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
	gst_buffer_unref(buffer);
	self->converted++;
	return gst_pad_push(self->srcpad, out);
}

static GstStateChangeReturn
caption_conv_change_state(GstElement *element, GstStateChange transition)
{
	CaptionConv *self = CAPTION_CONV(element);
	GstStateChangeReturn ret;

	ret = GST_ELEMENT_CLASS(caption_conv_parent_class)->change_state(element, transition);
	if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
		gst_caps_replace(&self->in_caps, NULL);
		self->format = FORMAT_NONE;
	}
	return ret;
}

static void
caption_conv_class_init(CaptionConvClass *klass)
{
	GstElementClass *element_class = GST_ELEMENT_CLASS(klass);

	element_class->change_state = caption_conv_change_state;
	gst_element_class_add_static_pad_template(element_class, &sink_template);
	gst_element_class_add_static_pad_template(element_class, &src_template);
	gst_element_class_set_static_metadata(element_class, "Caption converter", "Filter/Converter/Text",
					      "Brings captions into plain text", "The subtitles team");
}

static void
caption_conv_init(CaptionConv *self)
{
	self->sinkpad = gst_pad_new_from_static_template(&sink_template, "sink");
	gst_pad_set_event_function(self->sinkpad, caption_conv_sink_event);
	gst_pad_set_chain_function(self->sinkpad, caption_conv_chain);
	gst_element_add_pad(GST_ELEMENT(self), self->sinkpad);
	self->srcpad = gst_pad_new_from_static_template(&src_template, "src");
	gst_element_add_pad(GST_ELEMENT(self), self->srcpad);
}

/* ---------------------------------------------------------------- harness */

static guint64 shown, characters;

static GstFlowReturn
screen_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
	(void)pad;
	(void)parent;
	shown++;
	characters += gst_buffer_get_size(buffer);
	gst_buffer_unref(buffer);
	return GST_FLOW_OK;
}

static gboolean
start_programme(GstPad *pad, const gchar *media, gint channel)
{
	GstCaps *caps = gst_caps_new_simple(media, "channel", G_TYPE_INT, channel, NULL);
	gboolean ok = gst_pad_push_event(pad, gst_event_new_caps(caps));

	gst_caps_unref(caps);
	return ok;
}

static void
push_caption(GstPad *pad, gint n)
{
	gchar *line = g_strdup_printf("<b>%d</b> and then the inspector asked once more about the umbrella", n);
	GstBuffer *buffer = gst_buffer_new_wrapped(line, strlen(line));

	GST_BUFFER_PTS(buffer) = n * GST_SECOND;
	GST_BUFFER_DURATION(buffer) = GST_SECOND;
	if (n % 8 == 3)
		GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
	gst_pad_push(pad, buffer);
}

int
main(int argc, char **argv)
{
	static const gchar *const media[] = { "text/x-plain", "closedcaption/x-cea", "text/x-markup" };
	GstPad *feed, *screen;
	GstSegment segment;
	CaptionConv *conv;
	gint programme, n;

	gst_init(&argc, &argv);
	conv = gst_object_ref_sink(g_object_new(TYPE_CAPTION_CONV, "name", "conv", NULL));
	feed = gst_object_ref_sink(gst_pad_new("feed", GST_PAD_SRC));
	screen = gst_object_ref_sink(gst_pad_new("screen", GST_PAD_SINK));
	gst_pad_set_chain_function(screen, screen_chain);
	gst_pad_link(feed, conv->sinkpad);
	gst_pad_link(conv->srcpad, screen);
	gst_pad_set_active(screen, TRUE);
	gst_element_set_state(GST_ELEMENT(conv), GST_STATE_PLAYING);
	gst_pad_set_active(feed, TRUE);

	gst_pad_push_event(feed, gst_event_new_stream_start("captions"));
	gst_segment_init(&segment, GST_FORMAT_TIME);
	for (programme = 0; programme < 6; programme++) {
		if (!start_programme(feed, media[programme % 3], 10 + programme))
			g_printerr("programme %d not negotiated\n", programme);
		if (programme == 0)
			gst_pad_push_event(feed, gst_event_new_segment(&segment));
		for (n = 0; n < 10; n++)
			push_caption(feed, programme * 10 + n);
	}
	gst_pad_push_event(feed, gst_event_new_eos());

	gst_pad_set_active(feed, FALSE);
	gst_element_set_state(GST_ELEMENT(conv), GST_STATE_NULL);
	gst_pad_set_active(screen, FALSE);
	printf("%" G_GUINT64_FORMAT " shown of %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " characters, %"
	       G_GUINT64_FORMAT " dropped\n", shown, conv->converted, characters, conv->dropped);
	gst_pad_unlink(feed, conv->sinkpad);
	gst_pad_unlink(conv->srcpad, screen);
	gst_object_unref(feed);
	gst_object_unref(screen);
	gst_object_unref(conv);
	gst_deinit();
	return 0;
}
