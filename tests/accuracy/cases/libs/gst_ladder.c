/*
 * summary: the caps that are common to all outputs so far are replaced by the next intersection without being released
 * kind: overwritten
 * counts: surplus
 * objects: 5
 * track: GstMiniObject
 * packages: gstreamer-1.0
 * build: gcc -O3 -g
 */
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OUTPUTS 6

typedef struct {
    const char *name;
    const char *caps;
} OutputSpec;

typedef struct {
    GstPad *pad;
    GstCaps *limit;     /* set by the operator, may be NULL */
    guint frames;
} Output;

typedef struct {
    const char *name;
    Output outputs[MAX_OUTPUTS];
    guint n_outputs;
    GstCaps *agreed;
    GstBus *bus;
} Ladder;

static GstFlowReturn output_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
    Output *output = gst_pad_get_element_private(pad);

    (void)parent;
    output->frames++;
    gst_buffer_unref(buffer);
    return GST_FLOW_OK;
}

static gboolean output_open(Output *output, const OutputSpec *spec)
{
    GstCaps *caps = gst_caps_from_string(spec->caps);
    GstPadTemplate *template;

    if (!caps)
        return FALSE;
    template = gst_pad_template_new(spec->name, GST_PAD_SINK, GST_PAD_ALWAYS, caps);
    gst_caps_unref(caps);
    output->pad = gst_object_ref_sink(gst_pad_new_from_template(template, spec->name));
    gst_object_unref(template);
    gst_pad_set_element_private(output->pad, output);
    gst_pad_set_chain_function(output->pad, output_chain);
    gst_pad_set_active(output->pad, TRUE);
    output->limit = NULL;
    output->frames = 0;
    return TRUE;
}

static void output_set_limit(Output *output, const char *text)
{
    GstCaps *limit = text ? gst_caps_from_string(text) : NULL;

    gst_caps_replace(&output->limit, limit);
    if (limit)
        gst_caps_unref(limit);
}

static void output_close(Output *output)
{
    gst_pad_set_active(output->pad, FALSE);
    gst_caps_replace(&output->limit, NULL);
    gst_object_unref(output->pad);
}

/* What an output takes at the moment: a reference for the caller. */
static GstCaps *output_caps(const Output *output)
{
    GstCaps *template = gst_pad_get_pad_template_caps(output->pad);
    GstCaps *caps;

    if (!output->limit)
        return template;
    caps = gst_caps_intersect_full(template, output->limit, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(template);
    return caps;
}

static void ladder_report(Ladder *ladder, const char *what, GstCaps *caps)
{
    GstStructure *details = gst_structure_new("ladder", "name", G_TYPE_STRING, ladder->name, "what", G_TYPE_STRING,
                                              what, NULL);

    if (caps)
        gst_structure_set(details, "caps", GST_TYPE_CAPS, caps, NULL);
    gst_bus_post(ladder->bus, gst_message_new_application(NULL, details));
}

static gboolean ladder_open(Ladder *ladder, const char *name, const OutputSpec *specs, guint n, GstBus *bus)
{
    memset(ladder, 0, sizeof *ladder);
    ladder->name = name;
    ladder->bus = gst_object_ref(bus);
    for (guint i = 0; i < n; i++) {
        if (!output_open(&ladder->outputs[i], &specs[i]))
            return FALSE;
        ladder->n_outputs++;
    }
    return TRUE;
}

static void ladder_close(Ladder *ladder)
{
    for (guint i = 0; i < ladder->n_outputs; i++)
        output_close(&ladder->outputs[i]);
    gst_caps_replace(&ladder->agreed, NULL);
    gst_object_unref(ladder->bus);
}

/* Narrows what the source offers until every output takes it. */
static gboolean ladder_negotiate(Ladder *ladder, GstCaps *offer)
{
    GstCaps *common = gst_caps_ref(offer);

    for (guint i = 0; i < ladder->n_outputs; i++) {
        GstCaps *wanted = output_caps(&ladder->outputs[i]);
        GstCaps *narrowed = gst_caps_intersect_full(common, wanted, GST_CAPS_INTERSECT_FIRST);

        gst_caps_unref(wanted);
#ifndef BUG
        gst_caps_unref(common);
#endif
        common = narrowed; /* GUILTY */
        if (gst_caps_is_empty(common)) {
            ladder_report(ladder, "no common caps", NULL);
            gst_caps_unref(common);
            return FALSE;
        }
    }
    common = gst_caps_fixate(common);
    gst_caps_replace(&ladder->agreed, common);
    ladder_report(ladder, "agreed", common);
    gst_caps_unref(common);
    return TRUE;
}

static void ladder_feed(Ladder *ladder, guint frames)
{
    GstPad *source = gst_object_ref_sink(gst_pad_new("source", GST_PAD_SRC));
    GstSegment segment;

    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_set_active(source, TRUE);
    for (guint i = 0; i < ladder->n_outputs; i++) {
        if (gst_pad_link(source, ladder->outputs[i].pad) != GST_PAD_LINK_OK) {
            ladder_report(ladder, "not linked", NULL);
            continue;
        }
        gst_pad_push_event(source, gst_event_new_stream_start(ladder->name));
        gst_pad_push_event(source, gst_event_new_caps(ladder->agreed));
        gst_pad_push_event(source, gst_event_new_segment(&segment));
        for (guint k = 0; k < frames; k++)
            if (gst_pad_push(source, gst_buffer_new_allocate(NULL, 256, NULL)) != GST_FLOW_OK)
                break;
        gst_pad_unlink(source, ladder->outputs[i].pad);
    }
    gst_pad_set_active(source, FALSE);
    gst_object_unref(source);
}

static void print_reports(GstBus *bus)
{
    GstMessage *message;

    while ((message = gst_bus_pop(bus))) {
        const GstStructure *details = gst_message_get_structure(message);
        GstCaps *caps = NULL;

        printf("%s: %s", gst_structure_get_string(details, "name"), gst_structure_get_string(details, "what"));
        if (gst_structure_get(details, "caps", GST_TYPE_CAPS, &caps, NULL)) {
            const GstStructure *first = gst_caps_get_structure(caps, 0);
            int width = 0, height = 0;

            gst_structure_get_int(first, "width", &width);
            gst_structure_get_int(first, "height", &height);
            printf(" %dx%d", width, height);
            gst_caps_unref(caps);
        }
        putchar('\n');
        gst_message_unref(message);
    }
}

int main(int argc, char **argv)
{
    static const OutputSpec studio[] = {
        {"recorder", "video/x-raw, width=(int)[ 16, 3840 ], height=(int)[ 16, 2160 ]"},
        {"preview", "video/x-raw, width=(int)[ 16, 1920 ], height=(int)[ 16, 1080 ]"},
    };
    static const OutputSpec web[] = {
        {"hd", "video/x-raw, width=(int)[ 320, 1280 ], height=(int)[ 180, 720 ]; video/x-bayer"},
        {"phone", "video/x-raw, width=(int)[ 160, 854 ], height=(int)[ 90, 480 ]"},
        {"thumb", "video/x-raw, width=(int)[ 64, 400 ], height=(int)[ 64, 240 ]"},
    };
    GstCaps *camera, *still;
    Ladder ladders[2];
    GstBus *bus;
    guint frames = 0;

    setenv("GST_REGISTRY_DISABLE", "yes", 1);
    gst_init(&argc, &argv);
    bus = gst_bus_new();
    camera = gst_caps_from_string("video/x-raw, width=(int)[ 8, 4096 ], height=(int)[ 8, 2304 ]; video/x-bayer");
    still = gst_caps_from_string("image/jpeg, width=(int)4096, height=(int)2304");
    if (!ladder_open(&ladders[0], "studio", studio, G_N_ELEMENTS(studio), bus) ||
        !ladder_open(&ladders[1], "web", web, G_N_ELEMENTS(web), bus))
        return 1;
    output_set_limit(&ladders[0].outputs[1], "video/x-raw, width=(int)[ 16, 1024 ]");
    for (guint i = 0; i < G_N_ELEMENTS(ladders); i++) {
        if (ladder_negotiate(&ladders[i], camera))
            ladder_feed(&ladders[i], 10);
        for (guint k = 0; k < ladders[i].n_outputs; k++)
            frames += ladders[i].outputs[k].frames;
    }
    if (!ladder_negotiate(&ladders[0], still))
        printf("studio takes no stills\n");
    output_set_limit(&ladders[0].outputs[1], NULL);
    print_reports(bus);
    printf("%u frames\n", frames);
    for (guint i = 0; i < G_N_ELEMENTS(ladders); i++)
        ladder_close(&ladders[i]);
    gst_caps_unref(still);
    gst_caps_unref(camera);
    gst_object_unref(bus);
    gst_deinit();
    return 0;
}
