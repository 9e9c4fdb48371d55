/* summary: the caps a studio's filter leaves are stored over the caps that were asked for, whose reference is lost
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: clang -O2 -g
 * exit: 0
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define MAX_JINGLES 24

typedef struct {
    const char *name;
    GstCaps *filter; /* or NULL: takes anything */
    guint played;
    guint refused;
    gsize bytes;
} Studio;

typedef struct {
    char title[24];
    GstSample *sample;
} Jingle;

typedef struct {
    Jingle jingles[MAX_JINGLES];
    guint length;
    GstCaps *house; /* what the transmitter takes */
} Library;

static GstCaps *audio_caps(const char *format, int rate, int channels)
{
    return gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, format, "rate", G_TYPE_INT, rate, "channels",
                               G_TYPE_INT, channels, "layout", G_TYPE_STRING, "interleaved", NULL);
}

static GstBuffer *tone(guint number, int rate)
{
    gsize size = (gsize) rate / 100;
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, size, NULL);
    GstMapInfo map;

    if (gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
        for (gsize i = 0; i < map.size; i++)
            map.data[i] = (guint8) (i * (number + 3));
        gst_buffer_unmap(buffer, &map);
    }
    GST_BUFFER_PTS(buffer) = number * GST_SECOND;
    GST_BUFFER_DURATION(buffer) = 10 * GST_MSECOND;
    return buffer;
}

static void library_add(Library *library, const char *title, GstCaps *caps)
{
    Jingle *jingle = &library->jingles[library->length++];
    int rate = 8000;
    GstBuffer *buffer;

    gst_structure_get_int(gst_caps_get_structure(caps, 0), "rate", &rate);
    buffer = tone(library->length, rate);
    g_strlcpy(jingle->title, title, sizeof jingle->title);
    jingle->sample = gst_sample_new(buffer, caps, NULL, NULL);
    gst_buffer_unref(buffer);
}

/* Drops the caps, gives new ones. */
static GstCaps *prefer_stereo(GstCaps *caps)
{
    GstCaps *stereo = gst_caps_new_simple("audio/x-raw", "channels", G_TYPE_INT, 2, NULL);
    GstCaps *both = gst_caps_intersect(caps, stereo);

    gst_caps_unref(stereo);
    if (gst_caps_is_empty(both)) {
        gst_caps_unref(both);
        return caps;
    }
    gst_caps_unref(caps);
    return both;
}

/* What the jingle can be sent as: a new reference, or NULL. */
static GstCaps *negotiate(Library *library, Studio *studio, Jingle *jingle)
{
    GstCaps *caps = gst_caps_ref(gst_sample_get_caps(jingle->sample));
    GstCaps *common;

    if (!gst_caps_can_intersect(caps, library->house)) {
        gst_caps_unref(caps);
        return NULL;
    }
    common = gst_caps_intersect_full(caps, library->house, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(caps);
    caps = common;
    if (studio->filter) {
#ifdef BUG
        caps = gst_caps_intersect(caps, studio->filter); /* GUILTY */
#else
        common = gst_caps_intersect(caps, studio->filter);
        gst_caps_unref(caps);
        caps = common;
#endif
    }
    if (gst_caps_is_empty(caps)) {
        gst_caps_unref(caps);
        return NULL;
    }
    caps = prefer_stereo(caps);
    return gst_caps_fixate(caps);
}

/* The buffer as it goes out; a new reference. */
static GstBuffer *fade(GstSample *sample, guint8 volume)
{
    GstBuffer *buffer = gst_buffer_ref(gst_sample_get_buffer(sample));
    GstMapInfo map;

    if (volume == 255)
        return buffer;
    buffer = gst_buffer_make_writable(buffer);
    if (gst_buffer_map(buffer, &map, GST_MAP_READWRITE)) {
        for (gsize i = 0; i < map.size; i++)
            map.data[i] = (guint8) (map.data[i] * volume / 255);
        gst_buffer_unmap(buffer, &map);
    }
    return buffer;
}

static void studio_play(Library *library, Studio *studio, guint index, guint8 volume)
{
    Jingle *jingle = &library->jingles[index % library->length];
    GstCaps *caps = negotiate(library, studio, jingle);
    GstSample *out;
    GstBuffer *buffer;
    int rate = 0, channels = 0;

    if (!caps) {
        studio->refused++;
        return;
    }
    buffer = fade(jingle->sample, volume);
    out = gst_sample_new(buffer, caps, NULL, NULL);
    gst_buffer_unref(buffer);
    gst_structure_get_int(gst_caps_get_structure(caps, 0), "rate", &rate);
    gst_structure_get_int(gst_caps_get_structure(caps, 0), "channels", &channels);
    gst_caps_unref(caps);

    studio->played++;
    studio->bytes += gst_buffer_get_size(gst_sample_get_buffer(out));
    printf("%s plays %s, %d Hz, %d channels\n", studio->name, jingle->title, rate, channels);
    gst_sample_unref(out);
}

static void library_fill(Library *library)
{
    static const char *const titles[] = { "news", "weather", "traffic", "sports", "night", "morning" };
    static const char *const formats[] = { "S16LE", "S16LE", "F32LE", "U8" };
    char title[24];

    for (guint i = 0; i < 12; i++) {
        GstCaps *caps = audio_caps(formats[i % 4], i % 5 == 4 ? 44100 : 48000, 1 + i % 2);
        g_snprintf(title, sizeof title, "%s %u", titles[i % 6], i / 6 + 1);
        library_add(library, title, caps);
        gst_caps_unref(caps);
    }
}

static void library_clear(Library *library)
{
    for (guint i = 0; i < library->length; i++)
        gst_sample_unref(library->jingles[i].sample);
    gst_caps_unref(library->house);
}

int main(int argc, char **argv)
{
    Library library = { .length = 0 };
    Studio studios[3] = { { .name = "studio A" }, { .name = "studio B" }, { .name = "mobile" } };

    g_setenv("GST_REGISTRY", "/dev/null", TRUE);
    g_setenv("GST_REGISTRY_UPDATE", "no", TRUE);
    g_setenv("GST_PLUGIN_SYSTEM_PATH", "", TRUE);
    gst_init(&argc, &argv);

    library.house = gst_caps_from_string("audio/x-raw, format=(string){ S16LE, F32LE, U8 }, rate=(int)[ 8000, 96000 ], "
                                         "channels=(int)[ 1, 2 ]");
    library_fill(&library);
    studios[2].filter = gst_caps_from_string("audio/x-raw, format=(string){ S16LE, U8 }, rate=(int)[ 8000, 48000 ]");

    for (guint hour = 0; hour < 10; hour++) {
        studio_play(&library, &studios[0], hour * 3, 255);
        studio_play(&library, &studios[1], hour * 5 + 1, (guint8) (100 + hour * 10));
        if (hour % 6 == 2)
            studio_play(&library, &studios[2], hour, 200);
    }
    for (guint i = 0; i < G_N_ELEMENTS(studios); i++) {
        printf("%s: %u played, %u refused, %zu bytes\n", studios[i].name, studios[i].played, studios[i].refused,
               studios[i].bytes);
        if (studios[i].filter)
            gst_caps_unref(studios[i].filter);
    }
    library_clear(&library);
    gst_deinit();
    return 0;
}
