/*
 * summary: a block that a horn refuses is put once more by the sender, although the pad has taken the reference that it was given
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: GstMiniObject
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define RATE 8000
#define BLOCK_BYTES 1600
#define HISTORY 4

/* A horn: the far end of a line. It takes blocks of sound while its compressor has pressure. */

typedef struct
{
    const gchar *name;
    GstPad *line; /* our end */
    GstPad *pad;  /* the horn's end */
    GstBuffer *playing;
    gint pressure;
    gint need;
    guint played;
    guint refused;
} Horn;

/* The station: makes the signal and remembers the last blocks, for a horn that comes back. */

typedef struct
{
    GPtrArray *horns;
    GstBuffer *history[HISTORY];
    guint next;
    GstClockTime position;
} Station;

static GstFlowReturn horn_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
    Horn *horn = gst_pad_get_element_private(pad);
    GstMapInfo map;
    gint loud = 0;

    (void)parent;
    if (horn->pressure < horn->need) {
        gst_buffer_unref(buffer);
        return GST_FLOW_CUSTOM_ERROR;
    }
    if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        for (gsize i = 0; i < map.size; i += 100)
            loud += map.data[i] > 128;
        gst_buffer_unmap(buffer, &map);
    }
    horn->pressure -= loud;
    horn->played++;
    gst_buffer_replace(&horn->playing, buffer);
    gst_buffer_unref(buffer);
    return GST_FLOW_OK;
}

static gboolean horn_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
    Horn *horn = gst_pad_get_element_private(pad);

    (void)parent;
    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
        GstCaps *caps;
        gint rate = 0;

        gst_event_parse_caps(event, &caps);
        gst_structure_get_int(gst_caps_get_structure(caps, 0), "rate", &rate);
        printf("%s runs at %d Hz\n", horn->name, rate);
    } else if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) {
        gst_buffer_replace(&horn->playing, NULL);
    }
    gst_event_unref(event);
    return TRUE;
}

static void horn_announce(Horn *horn)
{
    GstCaps *caps = gst_caps_new_simple("audio/x-raw", "format", G_TYPE_STRING, "U8", "rate", G_TYPE_INT, RATE, "channels",
                                        G_TYPE_INT, 1, NULL);
    GstSegment segment;

    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(horn->line, gst_event_new_stream_start(horn->name));
    gst_pad_push_event(horn->line, gst_event_new_caps(caps));
    gst_pad_push_event(horn->line, gst_event_new_segment(&segment));
    gst_caps_unref(caps);
}

static Horn *horn_new(const gchar *name, gint pressure, gint need)
{
    Horn *horn = g_new0(Horn, 1);

    horn->name = name;
    horn->pressure = pressure;
    horn->need = need;
    horn->line = gst_pad_new(NULL, GST_PAD_SRC);
    horn->pad = gst_pad_new(NULL, GST_PAD_SINK);
    gst_pad_set_element_private(horn->pad, horn);
    gst_pad_set_chain_function(horn->pad, horn_chain);
    gst_pad_set_event_function(horn->pad, horn_event);
    gst_pad_set_active(horn->line, TRUE);
    gst_pad_set_active(horn->pad, TRUE);
    if (gst_pad_link(horn->line, horn->pad) != GST_PAD_LINK_OK)
        printf("%s has no line\n", name);
    horn_announce(horn);
    return horn;
}

static void horn_free(gpointer data)
{
    Horn *horn = data;

    gst_pad_push_event(horn->line, gst_event_new_eos());
    gst_pad_unlink(horn->line, horn->pad);
    gst_pad_set_active(horn->line, FALSE);
    gst_pad_set_active(horn->pad, FALSE);
    gst_object_unref(horn->line);
    gst_object_unref(horn->pad);
    g_free(horn);
}

static GstBuffer *station_make_block(Station *station, guint pitch, gboolean sounding)
{
    GstBuffer *block = gst_buffer_new_allocate(NULL, BLOCK_BYTES, NULL);
    GstMapInfo map;

    if (gst_buffer_map(block, &map, GST_MAP_WRITE)) {
        for (gsize i = 0; i < map.size; i++)
            map.data[i] = sounding && (i / pitch) % 2 == 0 ? 224 : 128;
        gst_buffer_unmap(block, &map);
    }
    GST_BUFFER_PTS(block) = station->position;
    GST_BUFFER_DURATION(block) = gst_util_uint64_scale(BLOCK_BYTES, GST_SECOND, RATE);
    station->position += GST_BUFFER_DURATION(block);
    return block;
}

static void station_remember(Station *station, GstBuffer *block)
{
    gst_buffer_replace(&station->history[station->next], block);
    station->next = (station->next + 1) % HISTORY;
}

/* Sends the block to all horns; takes the caller's reference. */
static guint station_send(Station *station, GstBuffer *block)
{
    guint taken = 0;

    for (guint i = 0; i < station->horns->len; i++) {
        Horn *horn = g_ptr_array_index(station->horns, i);
        const GstFlowReturn flow = gst_pad_push(horn->line, gst_buffer_ref(block));

        if (flow != GST_FLOW_OK) {
            printf("%s refuses the block at %" G_GUINT64_FORMAT " ms\n", horn->name,
                   (guint64)(GST_BUFFER_PTS(block) / GST_MSECOND));
            horn->refused++;
#ifdef BUG
            gst_buffer_unref(block); /* GUILTY */
#endif
            continue;
        }
        taken++;
    }
    gst_buffer_unref(block);
    return taken;
}

/* Gives a horn that has pressure again what it has missed. */
static guint station_repeat(Station *station, Horn *horn)
{
    guint sent = 0;

    for (guint i = 0; i < HISTORY; i++) {
        GstBuffer *old = station->history[(station->next + i) % HISTORY];
        GstBuffer *again;

        if (old == NULL)
            continue;
        again = gst_buffer_copy(old);
        GST_BUFFER_FLAG_SET(again, GST_BUFFER_FLAG_DISCONT);
        GST_BUFFER_PTS(again) = station->position;
        if (gst_pad_push(horn->line, again) != GST_FLOW_OK)
            break;
        sent++;
    }
    return sent;
}

/* One character of the fog signal: a blast of some blocks, and a silence. */
static void station_signal(Station *station, const gchar *character)
{
    for (; *character != '\0'; character++) {
        GstBuffer *block = station_make_block(station, 20, *character == '-');

        station_remember(station, block);
        if (station_send(station, block) == 0)
            printf("nobody hears us\n");
    }
}

static guint64 station_remembered(const Station *station)
{
    guint64 bytes = 0;

    for (guint i = 0; i < HISTORY; i++)
        if (station->history[i] != NULL)
            bytes += gst_buffer_get_size(station->history[i]);
    return bytes;
}

static void station_close(Station *station)
{
    g_ptr_array_unref(station->horns);
    for (guint i = 0; i < HISTORY; i++)
        gst_clear_buffer(&station->history[i]);
}

int main(int argc, char **argv)
{
    Station station = {.horns = g_ptr_array_new_with_free_func(horn_free)};

    gst_init(&argc, &argv);

    Horn *pier = horn_new("pier", 400, 8);
    Horn *rock = horn_new("rock", 60, 12);
    Horn *spit = horn_new("spit", 400, 8);
    g_ptr_array_add(station.horns, pier);
    g_ptr_array_add(station.horns, rock);
    g_ptr_array_add(station.horns, spit);

    station_signal(&station, "--. .--");
    printf("%" G_GUINT64_FORMAT " bytes remembered, rock at %d\n", station_remembered(&station), rock->pressure);

    rock->need = 30;
    printf("rock gets %u blocks again\n", station_repeat(&station, rock));
    rock->need = 12;
    rock->pressure += 5;
    printf("rock gets %u blocks again\n", station_repeat(&station, rock));
    station_signal(&station, ".--");

    for (guint i = 0; i < station.horns->len; i++) {
        const Horn *horn = g_ptr_array_index(station.horns, i);

        printf("%s: %u played, %u refused, pressure %d\n", horn->name, horn->played, horn->refused, horn->pressure);
    }
    station_close(&station);
    gst_deinit();
    return 0;
}
