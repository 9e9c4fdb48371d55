/*
 * summary: the reader enters a frame into its log after it has pushed it, when the archive may have dropped the frame
 * kind: use-after-put
 * counts: none
 * objects: 4
 * track: GstMiniObject GObject
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define FRAME_BYTES 256
#define ROLLS 2
#define FRAMES 11

/* The archive is at the far end of the link: it keeps what shows something and groups it in rolls. */

typedef struct {
    GstPad *sink;
    GQueue kept;             /* GstBuffer * */
    GPtrArray *rolls;        /* GstBufferList * */
    GstCaps *caps;
    guint blank;
    guint events;
} Archive;

typedef struct {
    guint64 number;
    GstClockTime at;
    gboolean marked;
} LogLine;

typedef struct {
    GstPad *src;
    GstBuffer *leader;
    GArray *log;             /* LogLine */
    guint roll;
    guint64 next;
    guint refused;
} Reader;

static GstStaticPadTemplate film_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("image/x-microfilm"));

static guint frame_density(GstBuffer *frame)
{
    GstMapInfo map;
    guint sum = 0;

    if (!gst_buffer_map(frame, &map, GST_MAP_READ))
        return 0;
    for (gsize i = 0; i < map.size; i++)
        sum += map.data[i];
    sum /= map.size;
    gst_buffer_unmap(frame, &map);
    return sum;
}

static GstFlowReturn archive_chain(GstPad *pad, GstObject *parent, GstBuffer *frame)
{
    Archive *archive = gst_pad_get_element_private(pad);

    (void)parent;
    if (frame_density(frame) < 8) {
        archive->blank++;
        gst_buffer_unref(frame);
        return GST_FLOW_OK;
    }
    g_queue_push_tail(&archive->kept, frame);
    return GST_FLOW_OK;
}

static void archive_finish_roll(Archive *archive)
{
    GstBufferList *roll = gst_buffer_list_new();
    GstBuffer *frame;

    while ((frame = g_queue_pop_head(&archive->kept)) != NULL)
        gst_buffer_list_add(roll, frame);
    g_ptr_array_add(archive->rolls, roll);
}

static gboolean archive_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
    Archive *archive = gst_pad_get_element_private(pad);
    GstCaps *caps;

    (void)parent;
    archive->events++;
    switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS:
        gst_event_parse_caps(event, &caps);
        if (archive->caps != NULL)
            archive_finish_roll(archive);
        gst_caps_replace(&archive->caps, caps);
        break;
    case GST_EVENT_EOS:
        archive_finish_roll(archive);
        break;
    default:
        break;
    }
    gst_event_unref(event);
    return TRUE;
}

static void archive_open(Archive *archive)
{
    memset(archive, 0, sizeof *archive);
    g_queue_init(&archive->kept);
    archive->rolls = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_list_unref);
    archive->sink = gst_pad_new_from_static_template(&film_template, "sink");
    gst_pad_set_element_private(archive->sink, archive);
    gst_pad_set_chain_function(archive->sink, archive_chain);
    gst_pad_set_event_function(archive->sink, archive_event);
    gst_pad_set_active(archive->sink, TRUE);
}

static void archive_report(Archive *archive)
{
    gchar *caps = archive->caps != NULL ? gst_caps_to_string(archive->caps) : g_strdup("nothing");

    printf("archive of %s: %u blank, %u events\n", caps, archive->blank, archive->events);
    for (guint i = 0; i < archive->rolls->len; i++) {
        GstBufferList *roll = g_ptr_array_index(archive->rolls, i);
        GstBuffer *first = gst_buffer_list_get(roll, 0);

        printf("roll %u: %u frames from %" G_GUINT64_FORMAT "\n", i, gst_buffer_list_length(roll),
               first != NULL ? GST_BUFFER_OFFSET(first) : 0);
    }
    g_free(caps);
}

static void archive_close(Archive *archive)
{
    GstBuffer *frame;

    gst_pad_set_active(archive->sink, FALSE);
    while ((frame = g_queue_pop_head(&archive->kept)) != NULL)
        gst_buffer_unref(frame);
    g_ptr_array_unref(archive->rolls);
    gst_caps_replace(&archive->caps, NULL);
    gst_object_unref(archive->sink);
}

static gboolean film_is_blank(guint roll, guint64 number)
{
    return (number + roll) % 5 == 1;
}

static GstBuffer *reader_expose(Reader *reader)
{
    GstBuffer *frame = gst_buffer_new_allocate(NULL, FRAME_BYTES, NULL);
    guint64 number = reader->next++;

    if (film_is_blank(reader->roll, number))
        gst_buffer_memset(frame, 0, 2, FRAME_BYTES);
    else
        gst_buffer_memset(frame, 0, (guint8)(40 + number * 9), FRAME_BYTES);
    GST_BUFFER_OFFSET(frame) = number;
    GST_BUFFER_PTS(frame) = number * 40 * GST_MSECOND;
    if (number % 4 == 0)
        GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_MARKER);
    return frame;
}

static void reader_note(Reader *reader, GstBuffer *frame)
{
    LogLine line;

    line.number = GST_BUFFER_OFFSET(frame);
    line.at = GST_BUFFER_PTS(frame);
    line.marked = GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_MARKER);
    g_array_append_val(reader->log, line);
}

static gboolean reader_step(Reader *reader)
{
    GstBuffer *frame = reader_expose(reader);
    GstFlowReturn flow;

#ifdef BUG
    flow = gst_pad_push(reader->src, frame); /* ACCEPTED */
    reader_note(reader, frame); /* GUILTY */
#else
    reader_note(reader, frame);
    flow = gst_pad_push(reader->src, frame);
#endif
    if (flow != GST_FLOW_OK) {
        reader->refused++;
        return FALSE;
    }
    return TRUE;
}

static void reader_begin_roll(Reader *reader, guint roll)
{
    GstCaps *caps = gst_caps_new_simple("image/x-microfilm", "roll", G_TYPE_INT, (gint)roll, NULL);
    GstSegment segment;

    reader->roll = roll;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(reader->src, gst_event_new_caps(caps));
    gst_pad_push_event(reader->src, gst_event_new_segment(&segment));
    gst_pad_push(reader->src, gst_buffer_ref(reader->leader));
    gst_caps_unref(caps);
}

static void reader_open(Reader *reader, Archive *archive)
{
    memset(reader, 0, sizeof *reader);
    reader->log = g_array_new(FALSE, FALSE, sizeof(LogLine));
    reader->src = gst_pad_new("src", GST_PAD_SRC);
    reader->leader = gst_buffer_new_memdup("leader leader leader", 20);
    GST_BUFFER_OFFSET(reader->leader) = 9000;
    gst_pad_set_active(reader->src, TRUE);
    gst_pad_link(reader->src, archive->sink);
}

static void reader_close(Reader *reader)
{
    GstPad *peer = gst_pad_get_peer(reader->src);
    guint marked = 0;

    for (guint i = 0; i < reader->log->len; i++)
        if (g_array_index(reader->log, LogLine, i).marked)
            marked++;
    printf("reader: %u frames, %u marked, %u refused\n", reader->log->len, marked, reader->refused);
    if (peer != NULL) {
        gst_pad_unlink(reader->src, peer);
        gst_object_unref(peer);
    }
    gst_pad_set_active(reader->src, FALSE);
    gst_buffer_unref(reader->leader);
    gst_object_unref(reader->src);
    g_array_unref(reader->log);
}

int main(int argc, char **argv)
{
    Archive archive;
    Reader reader;

    gst_init(&argc, &argv);
    archive_open(&archive);
    reader_open(&reader, &archive);
    gst_pad_push_event(reader.src, gst_event_new_stream_start("film"));
    for (guint roll = 0; roll < ROLLS; roll++) {
        reader_begin_roll(&reader, roll);
        for (guint i = 0; i < FRAMES; i++)
            reader_step(&reader);
    }
    gst_pad_push_event(reader.src, gst_event_new_eos());
    archive_report(&archive);
    reader_close(&reader);
    archive_close(&archive);
    return 0;
}
