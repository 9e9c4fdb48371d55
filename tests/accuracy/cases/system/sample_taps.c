/* summary: tap_measure gives the buffer from gst_sample_get_buffer() back when it is silent, although the sample only lends it
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O2
 * exit: 0
 */
// Taps on the channels of a mixing desk: each hands in samples, the desk measures them and keeps the last ones
// of each channel for the waveform view.

#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>

#define CHANNELS 3
#define KEPT 16
#define FRAMES 64

typedef struct Tap {
	GstSample *kept[KEPT]; // owned
	guint n_kept;
	gint peak;
	guint silent, clipped, empty;
} Tap;

typedef struct Desk {
	GstCaps *caps;  // owned
	Tap tap[CHANNELS];
	guint seed;
} Desk;

static GstSample *desk_sample(Desk *desk, guint channel, guint n)
{
	GstBuffer *buffer;
	GstSample *sample;
	GstMapInfo map;
	gint16 *pcm;

	if (n % 13 == 12)
		return gst_sample_new(NULL, desk->caps, NULL, NULL);
	buffer = gst_buffer_new_allocate(NULL, FRAMES * sizeof(gint16), NULL);
	gst_buffer_map(buffer, &map, GST_MAP_WRITE);
	pcm = (gint16 *)map.data;
	for (guint i = 0; i < FRAMES; i++) {
		desk->seed = desk->seed * 1103515245u + 12345u;
		pcm[i] = (gint16)(desk->seed >> 16);
		if (n % 5 == channel)
			pcm[i] /= 4;
		if (channel == 1 && n % 4 == 3)
			pcm[i] = 0;
	}
	gst_buffer_unmap(buffer, &map);
	GST_BUFFER_PTS(buffer) = n * 20 * GST_MSECOND;
	sample = gst_sample_new(buffer, desk->caps, NULL, NULL);
	gst_buffer_unref(buffer);
	return sample;
}

static void tap_keep(Tap *tap, GstSample *sample)
{
	if (tap->n_kept == KEPT)
		gst_sample_unref(tap->kept[--tap->n_kept]);
	tap->kept[tap->n_kept++] = gst_sample_ref(sample);
}

// The peak of a sample; -1 where there is nothing to measure.
__attribute__((noinline)) static gint tap_measure(Tap *tap, GstSample *sample)
{
	GstBuffer *buffer = gst_sample_get_buffer(sample); // ACCEPTED
	const gint16 *pcm;
	gint peak = 0;
	GstMapInfo map;

	if (!buffer) {
		tap->empty++;
		return -1;
	}
	if (!gst_buffer_map(buffer, &map, GST_MAP_READ))
		return -1;
	pcm = (const gint16 *)map.data;
	for (gsize i = 0; i < map.size / sizeof *pcm; i++)
		peak = MAX(peak, abs(pcm[i]));
	gst_buffer_unmap(buffer, &map);

	if (peak == 0) {
		tap->silent++;
#ifdef BUG
		gst_buffer_unref(buffer); // GUILTY
#endif
		return -1;
	}
	if (peak > 32700)
		tap->clipped++;
	return peak;
}

static void desk_push(Desk *desk, guint channel, guint n)
{
	GstSample *sample = desk_sample(desk, channel, n);
	Tap *tap = &desk->tap[channel];
	gint peak;

	tap_keep(tap, sample);
	peak = tap_measure(tap, sample);
	if (peak > tap->peak)
		tap->peak = peak;
	gst_sample_unref(sample);
}

static void desk_close(Desk *desk)
{
	for (guint c = 0; c < CHANNELS; c++)
		while (desk->tap[c].n_kept > 0)
			gst_sample_unref(desk->tap[c].kept[--desk->tap[c].n_kept]);
	gst_caps_unref(desk->caps);
}

int main(int argc, char **argv)
{
	static Desk desk;

	gst_init(&argc, &argv);
	desk.seed = 1;
	desk.caps = gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, "S16LE", "channels", G_TYPE_INT, 1, NULL);
	for (guint n = 0; n < 16; n++)
		for (guint c = 0; c < CHANNELS; c++)
			desk_push(&desk, c, n);
	for (guint c = 0; c < CHANNELS; c++)
		printf("channel %u: peak %d, %u silent, %u clipped, %u empty, %u kept\n", c, desk.tap[c].peak,
		       desk.tap[c].silent, desk.tap[c].clipped, desk.tap[c].empty, desk.tap[c].n_kept);
	desk_close(&desk);
	gst_deinit();
	return 0;
}
