/* summary: the album of a door camera drops an expired snapshot from view, but keeps the GstSample in its slot for ever
 * kind: held
 * counts: surplus
 * objects: 4
 * track: gstreamer
 * packages: gstreamer-app-1.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "registry marks an entry as expired and never lets go of it"
 */
/*
 * A door camera. Frames go through a pipeline with an appsink; on movement
 * the sample is put into an album, from which the owner can keep or dismiss
 * it. What is dismissed can be brought back for a while.
 */
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define FRAMES 80
#define WIDTH 32
#define HEIGHT 16
#define UNDO_SPAN 12
#define SLOTS 48

enum slot_state { SLOT_FREE, SLOT_NEW, SLOT_KEPT, SLOT_DISMISSED, SLOT_EXPIRED };

struct slot {
	enum slot_state state;
	GstSample *sample;	/* owned */
	int frame;
	int dismissed_at;
};

struct album {
	struct slot slots[SLOTS];
	int used;
};

static void drop(GstSample **sample)
{
	if (*sample)
		gst_sample_unref(*sample);
	*sample = NULL;
}

/* The camera lives as long as the process, and its album with it. */
static struct album album;

static struct slot *album_add(GstSample *sample, int frame)
{
	struct slot *s;

	if (album.used == SLOTS)
		return NULL;
	s = &album.slots[album.used++];
	s->state = SLOT_NEW;
	s->sample = gst_sample_ref(sample);	/* ACCEPTED */
	s->frame = frame;
	return s;
}

static void album_dismiss(struct slot *s, int now)
{
	s->state = SLOT_DISMISSED;
	s->dismissed_at = now;
}

static void album_restore(struct slot *s)
{
	if (s->state == SLOT_DISMISSED)
		s->state = SLOT_KEPT;
}

/* Lets go of what was dismissed long enough ago. */
static int album_expire(int now)
{
	int n = 0;

	for (int i = 0; i < album.used; i++) {
		struct slot *s = &album.slots[i];

		if (s->state != SLOT_DISMISSED || s->dismissed_at + UNDO_SPAN > now)
			continue;
#ifndef BUG
		drop(&s->sample);
#endif
		s->state = SLOT_EXPIRED;	/* GUILTY */
		n++;
	}
	return n;
}

static void album_close(void)
{
	for (int i = 0; i < album.used; i++) {
		struct slot *s = &album.slots[i];

		switch (s->state) {
		case SLOT_FREE:
		case SLOT_EXPIRED:
			break;
		case SLOT_NEW:
		case SLOT_KEPT:
		case SLOT_DISMISSED:
			drop(&s->sample);
			s->state = SLOT_FREE;
			break;
		}
	}
}

/* Mean brightness. */
static int sample_level(GstSample *sample)
{
	GstBuffer *buffer = gst_sample_get_buffer(sample);
	GstMapInfo map;
	long sum = 0;

	if (buffer == NULL || !gst_buffer_map(buffer, &map, GST_MAP_READ))
		return -1;
	for (gsize i = 0; i < map.size; i++)
		sum += map.data[i];
	sum /= (long)map.size;
	gst_buffer_unmap(buffer, &map);
	return (int)sum;
}

static int sample_width(GstSample *sample)
{
	GstCaps *caps = gst_sample_get_caps(sample);
	int width = 0;

	if (caps)
		gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
	return width;
}

static GstBuffer *make_frame(int n)
{
	GstBuffer *buffer = gst_buffer_new_allocate(NULL, WIDTH * HEIGHT, NULL);
	int level = n % 4 == 2 ? 180 - n : 40;

	gst_buffer_memset(buffer, 0, (guint8)level, WIDTH * HEIGHT);
	GST_BUFFER_PTS(buffer) = (GstClockTime)n * 40 * GST_MSECOND;
	GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
	return buffer;
}

struct camera {
	GstElement *pipeline;
	GstElement *src;
	GstElement *sink;
	GstSample *previous;	/* owned */
	int level;
	int alarms;
};

static gboolean camera_open(struct camera *c)
{
	GstCaps *caps;

	memset(c, 0, sizeof *c);
	c->pipeline = gst_parse_launch("appsrc name=src format=time ! queue ! "
				       "appsink name=sink sync=false", NULL);
	if (c->pipeline == NULL)
		return FALSE;
	c->src = gst_bin_get_by_name(GST_BIN(c->pipeline), "src");
	c->sink = gst_bin_get_by_name(GST_BIN(c->pipeline), "sink");
	caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "GRAY8",
				   "width", G_TYPE_INT, WIDTH, "height", G_TYPE_INT, HEIGHT,
				   "framerate", GST_TYPE_FRACTION, 25, 1, NULL);
	gst_app_src_set_caps(GST_APP_SRC(c->src), caps);
	gst_caps_unref(caps);
	return gst_element_set_state(c->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
}

/* Compares with the frame before; TRUE when something moved. */
static gboolean camera_compare(struct camera *c, GstSample *sample)
{
	int level = sample_level(sample);
	int before = c->previous ? sample_level(c->previous) : level;

	drop(&c->previous);
	c->previous = gst_sample_ref(sample);
	c->level += level;
	return level > before + 30;
}

static void camera_frame(struct camera *c, int n)
{
	GstSample *sample;

	gst_app_src_push_buffer(GST_APP_SRC(c->src), make_frame(n));
	sample = gst_app_sink_try_pull_sample(GST_APP_SINK(c->sink), 2 * GST_SECOND);
	if (sample == NULL)
		return;
	if (camera_compare(c, sample)) {
		struct slot *s = album_add(sample, n);

		c->alarms++;
		/* The neighbour's cat: the owner dismisses these at once. */
		if (s && c->alarms % 3 == 0)
			album_dismiss(s, n);
	}
	gst_sample_unref(sample);
	if (n == 50)	/* the third alarm was no cat */
		for (int i = 6; i < album.used; i++)
			album_restore(&album.slots[i]);
	album_expire(n);
}

static void camera_close(struct camera *c)
{
	gst_app_src_end_of_stream(GST_APP_SRC(c->src));
	gst_element_set_state(c->pipeline, GST_STATE_NULL);
	drop(&c->previous);
	gst_object_unref(c->src);
	gst_object_unref(c->sink);
	gst_object_unref(c->pipeline);
}

int main(int argc, char **argv)
{
	struct camera c;
	int count[5] = { 0 }, width = 0;

	gst_init(&argc, &argv);
	if (!camera_open(&c)) {
		fprintf(stderr, "cannot start the camera\n");
		return 1;
	}
	for (int n = 0; n < FRAMES; n++)
		camera_frame(&c, n);
	for (int i = 0; i < album.used; i++) {
		count[album.slots[i].state]++;
		if (album.slots[i].state == SLOT_KEPT)
			width += sample_width(album.slots[i].sample);
	}
	printf("%d alarms in %d frames, level %d\n", c.alarms, FRAMES, c.level / FRAMES);
	printf("new %d, kept %d (%d pixels), dismissed %d, expired %d\n", count[SLOT_NEW],
	       count[SLOT_KEPT], width, count[SLOT_DISMISSED], count[SLOT_EXPIRED]);
	album_close();
	camera_close(&c);
	gst_deinit();
	return 0;
}
