// A pipeline with an element of its own: fakesrc ! keeper ! fakesink. The element keeps the last buffer, and
// loses the reference that it took on the way where a buffer is skipped. It counts what it does.
#include <gst/gst.h>

#define BUFFERS 20
#define EVERY 5

typedef struct {
  GstElement element;
  GstPad *source;
  GstBuffer *last;
  int number, gets, puts, lost;
} Keeper;
typedef GstElementClass KeeperClass;

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate source_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE(Keeper, keeper, GST_TYPE_ELEMENT)

__attribute__((noinline)) static void drop(Keeper *keeper, GstBuffer *buffer) {
  keeper->puts++;
  gst_buffer_unref(buffer);
}

__attribute__((noinline)) static GstFlowReturn skip(Keeper *keeper, GstBuffer *buffer) {
  keeper->lost++;  // the mistake: what keeper_chain took is not given back
  drop(keeper, buffer);
  return GST_FLOW_OK;
}

static GstFlowReturn keeper_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer) {
  (void)pad;
  Keeper *keeper = (Keeper *)parent;
  keeper->number++;
  keeper->gets++;
  GstBuffer *kept = gst_buffer_ref(buffer);
  if (keeper->number % EVERY == EVERY / 2) return skip(keeper, buffer);
  if (keeper->last != NULL) drop(keeper, keeper->last);
  keeper->last = kept;
  return gst_pad_push(keeper->source, buffer);
}

static void keeper_init(Keeper *keeper) {
  GstPad *sink = gst_pad_new_from_static_template(&sink_template, "sink");
  gst_pad_set_chain_function(sink, keeper_chain);
  keeper->source = gst_pad_new_from_static_template(&source_template, "src");
  gst_element_add_pad(&keeper->element, sink);
  gst_element_add_pad(&keeper->element, keeper->source);
}

static void keeper_class_init(KeeperClass *class) {
  gst_element_class_add_static_pad_template(class, &sink_template);
  gst_element_class_add_static_pad_template(class, &source_template);
  gst_element_class_set_static_metadata(class, "keeper", "Generic", "keeps the last buffer", "refhist");
}

int main(int argc, char **argv) {
  // The elements that it needs are loaded by hand, so that no registry is read or written.
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init(&argc, &argv);
  GError *error = NULL;
  GstPlugin *plugin = gst_plugin_load_file(CORE_ELEMENTS, &error);
  if (plugin == NULL) return 2;
  gst_element_register(NULL, "keeper", GST_RANK_NONE, keeper_get_type());

  GstElement *pipeline = gst_pipeline_new("pipeline");
  GstElement *source = gst_element_factory_make("fakesrc", NULL);
  GstElement *element = gst_element_factory_make("keeper", NULL);
  GstElement *sink = gst_element_factory_make("fakesink", NULL);
  g_object_set(source, "num-buffers", BUFFERS, "sizetype", 2, "sizemax", 64, NULL);
  gst_bin_add_many(GST_BIN(pipeline), source, element, sink, NULL);
  if (!gst_element_link_many(source, element, sink, NULL)) return 3;
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *end = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  const int failed = GST_MESSAGE_TYPE(end) != GST_MESSAGE_EOS;
  gst_message_unref(end);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  Keeper *keeper = (Keeper *)element;
  if (keeper->last != NULL) drop(keeper, keeper->last);
  keeper->last = NULL;
  g_print("buffers %d\ngets %d\nputs %d\nlost %d\n", keeper->number, keeper->gets, keeper->puts,
          keeper->lost);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  gst_object_unref(plugin);
  return failed;
}
