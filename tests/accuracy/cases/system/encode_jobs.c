/* summary: handle_application returns for a stall of a job that is allowed to stall without giving the popped message back
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* Runs a few pipelines to their end, one after the other, and writes down what their buses say. A probe in the
 * streaming thread posts the progress. */
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NJOBS 4
#define NBUFFERS 30
#define HISTORY 8

struct job {
  int number;
  gboolean may_stall;
  GstElement *pipeline; /* owned */
  GstMessage *progress; /* owned, the newest report */
  GQueue stalls;        /* owned messages, newest last */
  int seen, warnings, done, forgiven;
};

static struct job jobs[NJOBS];

/* The last messages of all jobs; they stay to the end for the crash report. */
static GstMessage *history[HISTORY];
static unsigned history_at;

static void remember(GstMessage *msg) {
  GstMessage **slot = &history[history_at++ % HISTORY];

  if (*slot)
    gst_message_unref(*slot);
  *slot = gst_message_ref(msg);
}

/* Streaming thread. The bus takes the message over. */
static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
  struct job *job = data;
  GstElement *sink = gst_pad_get_parent_element(pad);
  GstStructure *s = NULL;

  job->seen++;
  if (gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info)) == 0)
    return GST_PAD_PROBE_OK;
  if (job->seen % 5 == 0)
    s = gst_structure_new("progress", "done", G_TYPE_INT, job->seen, NULL);
  else if (job->seen % 13 == 0)
    s = gst_structure_new("stall", "at", G_TYPE_INT, job->seen, NULL);
  else if (job->seen % 17 == 0)
    s = gst_structure_new("chatter", "at", G_TYPE_INT, job->seen, NULL);
  if (s)
    gst_element_post_message(sink, gst_message_new_application(GST_OBJECT(sink), s));
  gst_object_unref(sink);
  return GST_PAD_PROBE_OK;
}

/* Takes the message over. */
static void handle_application(struct job *job, GstMessage *msg) {
  const GstStructure *s = gst_message_get_structure(msg);
  int at = 0;

  if (gst_structure_has_name(s, "progress")) {
    gst_structure_get_int(s, "done", &job->done);
    if (job->progress)
      gst_message_unref(job->progress);
    job->progress = msg; /* ours now */
    return;
  }
  if (!gst_structure_has_name(s, "stall")) {
    gst_message_unref(msg);
    return;
  }
  if (!gst_structure_get_int(s, "at", &at) || at <= 0) {
    gst_message_unref(msg);
    return;
  }
  if (job->may_stall) {
    job->forgiven++; /* ACCEPTED */
#ifndef BUG
    gst_message_unref(msg);
#endif
    return; /* GUILTY */
  }
  remember(msg);
  g_queue_push_tail(&job->stalls, msg);
}

/* FALSE when the job has come to its end. */
static gboolean next_message(struct job *job, GstBus *bus) {
  GstMessage *msg = gst_bus_timed_pop(bus, 5 * GST_SECOND); /* ACCEPTED */
  gboolean more = TRUE;

  if (!msg)
    return FALSE;
  switch (GST_MESSAGE_TYPE(msg)) {
  case GST_MESSAGE_APPLICATION:
    handle_application(job, msg);
    return TRUE;
  case GST_MESSAGE_STATE_CHANGED:
    if (GST_MESSAGE_SRC(msg) != GST_OBJECT(job->pipeline)) {
      gst_message_unref(msg);
      return TRUE;
    }
    remember(msg);
    break;
  case GST_MESSAGE_WARNING:
    job->warnings++;
    remember(msg);
    break;
  case GST_MESSAGE_ERROR:
  case GST_MESSAGE_EOS:
    remember(msg);
    more = FALSE;
    break;
  default:
    break;
  }
  gst_message_unref(msg);
  return more;
}

static GstElement *make_pipeline(struct job *job) {
  GstElement *pipeline = gst_pipeline_new(NULL);
  GstElement *src = gst_element_factory_make("fakesrc", NULL);
  GstElement *mid = gst_element_factory_make("identity", NULL);
  GstElement *sink = gst_element_factory_make("fakesink", NULL);
  GstPad *pad;

  if (!src || !mid || !sink)
    exit(1);
  g_object_set(src, "num-buffers", NBUFFERS, "sizetype", 2, "sizemax", 64, NULL);
  g_object_set(mid, "silent", TRUE, NULL);
  gst_bin_add_many(GST_BIN(pipeline), src, mid, sink, NULL);
  gst_element_link_many(src, mid, sink, NULL);
  pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, job, NULL);
  gst_object_unref(pad);
  return pipeline;
}

static void run_job(struct job *job) {
  GstBus *bus;

  job->pipeline = make_pipeline(job);
  bus = gst_element_get_bus(job->pipeline);
  gst_bus_post(bus, gst_message_new_warning(GST_OBJECT(job->pipeline), NULL, "late start"));
  gst_element_set_state(job->pipeline, GST_STATE_PLAYING);
  while (next_message(job, bus))
    ;
  gst_element_set_state(job->pipeline, GST_STATE_NULL);
  gst_bus_set_flushing(bus, TRUE);
  gst_object_unref(bus);
}

static void end_job(struct job *job) {
  g_queue_clear_full(&job->stalls, (GDestroyNotify)gst_message_unref);
  if (job->progress)
    gst_message_unref(job->progress);
  job->progress = NULL;
  gst_clear_object(&job->pipeline);
}

int main(int argc, char **argv) {
  int seen = 0, done = 0, stalls = 0, forgiven = 0, warnings = 0;

  gst_init(&argc, &argv);
  for (int i = 0; i < NJOBS; i++) {
    jobs[i].number = i;
    jobs[i].may_stall = i == 2;
    g_queue_init(&jobs[i].stalls);
  }
  for (int i = 0; i < NJOBS; i++)
    run_job(&jobs[i]);
  jobs[3].may_stall = TRUE; /* once more, and now it is no matter */
  end_job(&jobs[3]);
  jobs[3].seen = 14;
  run_job(&jobs[3]);
  for (int i = 0; i < NJOBS; i++) {
    seen += jobs[i].seen;
    done += jobs[i].done;
    stalls += (int)g_queue_get_length(&jobs[i].stalls);
    forgiven += jobs[i].forgiven;
    warnings += jobs[i].warnings;
    end_job(&jobs[i]);
  }
  printf("seen %d done %d stalls %d forgiven %d warnings %d\n", seen, done, stalls, forgiven, warnings);
#ifdef TRUTH
  for (int i = 0; i < HISTORY; i++)
    gst_clear_message(&history[i]);
#endif
  return 0;
}
