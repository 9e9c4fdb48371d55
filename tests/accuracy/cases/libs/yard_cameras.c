/* summary: the caps that gst_event_parse_caps() lends are unreffed after a change of format
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: GstMiniObject
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 */
/* Recorder of yard cameras: each keeps the last frames in a ring, clips are cut out of the rings on an alarm. */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define RING 4
#define CAMERAS 3

typedef struct {
	GstBuffer *pixels;
	GstEvent *format;          /* the caps event that was in force */
} Frame;

typedef struct {
	const char *name;
	GstEvent *format;          /* sticky, for the frames to come */
	GQueue pending;            /* events and buffers from the driver */
	Frame *ring[RING];
	guint written;
	gint width, height;
	guint format_changes;
	gboolean ended;
} Camera;

typedef struct {
	char *title;
	GPtrArray *frames;
} Clip;

static Frame *frame_new(GstBuffer *pixels, GstEvent *format)
{
	Frame *frame = g_new(Frame, 1);

	frame->pixels = gst_buffer_ref(pixels);
	frame->format = gst_event_ref(format);
	return frame;
}

static Frame *frame_copy(const Frame *frame)
{
	return frame_new(frame->pixels, frame->format);
}

static void frame_free(Frame *frame)
{
	gst_buffer_unref(frame->pixels);
	gst_event_unref(frame->format);
	g_free(frame);
}

static void driver_send_format(Camera *cam, gint width, gint height, gint fps)
{
	GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "GRAY8", "width", G_TYPE_INT, width, "height",
					    G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION, fps, 1, NULL);

	g_queue_push_tail(&cam->pending, gst_event_new_caps(caps));
	gst_caps_unref(caps);
}

static void driver_send_frames(Camera *cam, gint width, gint height, guint8 light, guint count)
{
	for (guint i = 0; i < count; i++) {
		GstBuffer *pixels = gst_buffer_new_allocate(NULL, (gsize)(width * height), NULL);

		gst_buffer_memset(pixels, 0, (guint8)(light + i), (gsize)(width * height));
		GST_BUFFER_DURATION(pixels) = 200 * GST_MSECOND;
		g_queue_push_tail(&cam->pending, pixels);
	}
}

static void camera_on_caps(Camera *cam, GstEvent *event)
{
	GstCaps *caps = NULL;
	GstStructure *s;
	gint width = 0, height = 0;

	gst_event_parse_caps(event, &caps);
	s = gst_caps_get_structure(caps, 0);
	if (!gst_structure_get_int(s, "width", &width) || !gst_structure_get_int(s, "height", &height))
		return;
	gst_event_replace(&cam->format, event);
	if (width == cam->width && height == cam->height)
		return;
	if (cam->width) {
		cam->format_changes++;
		printf("%s: %dx%d becomes %dx%d\n", cam->name, cam->width, cam->height, width, height);
#ifdef BUG
		gst_caps_unref(caps); /* GUILTY */
#endif
	}
	cam->width = width;
	cam->height = height;
}

static void camera_on_buffer(Camera *cam, GstBuffer *pixels)
{
	guint slot = cam->written % RING;

	if (!cam->format || gst_buffer_get_size(pixels) != (gsize)(cam->width * cam->height)) {
		printf("%s: frame without a format\n", cam->name);
		return;
	}
	g_clear_pointer(&cam->ring[slot], frame_free);
	cam->ring[slot] = frame_new(pixels, cam->format);
	cam->written++;
}

static void camera_run(Camera *cam)
{
	GstMiniObject *item;

	while ((item = g_queue_pop_head(&cam->pending))) {
		if (GST_IS_BUFFER(item))
			camera_on_buffer(cam, GST_BUFFER_CAST(item));
		else if (GST_EVENT_TYPE(item) == GST_EVENT_CAPS)
			camera_on_caps(cam, GST_EVENT_CAST(item));
		else if (GST_EVENT_TYPE(item) == GST_EVENT_EOS)
			cam->ended = TRUE;
		gst_mini_object_unref(item);
	}
}

static void camera_stop(Camera *cam)
{
	g_queue_push_tail(&cam->pending, gst_event_new_eos());
	camera_run(cam);
	for (guint i = 0; i < RING; i++)
		g_clear_pointer(&cam->ring[i], frame_free);
	gst_event_replace(&cam->format, NULL);
}

static Clip *clip_new(const char *title)
{
	Clip *clip = g_new0(Clip, 1);

	clip->title = g_strdup(title);
	clip->frames = g_ptr_array_new_with_free_func((GDestroyNotify)frame_free);
	return clip;
}

static void clip_free(Clip *clip)
{
	g_ptr_array_unref(clip->frames);
	g_free(clip->title);
	g_free(clip);
}

static Clip *camera_cut(Camera *cam, const char *title, guint frames)
{
	Clip *clip = clip_new(title);
	guint first = cam->written > frames ? cam->written - frames : 0;

	if (cam->written > RING && first < cam->written - RING)
		first = cam->written - RING;
	for (guint n = first; n < cam->written; n++)
		g_ptr_array_add(clip->frames, frame_copy(cam->ring[n % RING]));
	return clip;
}

static guint buffer_mean(GstBuffer *pixels)
{
	GstMapInfo map;
	guint64 sum = 0;

	if (!gst_buffer_map(pixels, &map, GST_MAP_READ))
		return 0;
	for (gsize i = 0; i < map.size; i++)
		sum += map.data[i];
	gst_buffer_unmap(pixels, &map);
	return map.size ? (guint)(sum / map.size) : 0;
}

static void clip_print(const Clip *clip)
{
	printf("clip %s:", clip->title);
	for (guint i = 0; i < clip->frames->len; i++) {
		const Frame *frame = g_ptr_array_index(clip->frames, i);
		const GstStructure *s;
		GstCaps *caps = NULL;
		gint width = 0;

		gst_event_parse_caps(frame->format, &caps);
		s = gst_caps_get_structure(caps, 0);
		if (s)
			gst_structure_get_int(s, "width", &width);
		printf(" %dpx/%u", width, buffer_mean(frame->pixels));
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	Camera cams[CAMERAS] = { { .name = "gate" }, { .name = "ramp" }, { .name = "scales" } };
	GQueue clips = G_QUEUE_INIT;
	guint changes = 0;
	Clip *clip;

	gst_registry_fork_set_enabled(FALSE);
	gst_init(&argc, &argv);
	for (guint i = 0; i < CAMERAS; i++) {
		g_queue_init(&cams[i].pending);
		driver_send_format(&cams[i], i == 1 ? 48 : 32, i == 1 ? 36 : 24, 5);
		driver_send_frames(&cams[i], i == 1 ? 48 : 32, i == 1 ? 36 : 24, (guint8)(40 * i), 6);
		camera_run(&cams[i]);
	}
	g_queue_push_tail(&clips, camera_cut(&cams[0], "lorry at the gate", 3));

	driver_send_format(&cams[2], 32, 24, 10);
	driver_send_frames(&cams[2], 32, 24, 130, 2);
	camera_run(&cams[2]);
	g_queue_push_tail(&clips, camera_cut(&cams[2], "weighing", 9));

	driver_send_frames(&cams[1], 48, 36, 70, 1);
	driver_send_format(&cams[1], 64, 48, 10);
	driver_send_frames(&cams[1], 64, 48, 90, 3);
	camera_run(&cams[1]);
	g_queue_push_tail(&clips, camera_cut(&cams[1], "person on the ramp", 4));

	for (guint i = 0; i < CAMERAS; i++) {
		changes += cams[i].format_changes;
		camera_stop(&cams[i]);
	}
	while ((clip = g_queue_pop_head(&clips))) {
		clip_print(clip);
		clip_free(clip);
	}
	printf("%u changes of format\n", changes);
	gst_deinit();
	return changes == 1 ? 0 : 1;
}
