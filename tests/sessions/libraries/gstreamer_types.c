// Mini objects of GStreamer by the functions of their types, all of which end in those of GstMiniObject.
#include <gst/gst.h>

#include "tally.h"

int main(void) {
  // No plugins and no registry file: only the library itself is needed.
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init(NULL, NULL);
  static void *kept[6];
  TWO_LIVES("GstMiniObject", kept[0], gst_buffer_new(), gst_buffer_ref, gst_buffer_unref);
  TWO_LIVES("GstMiniObject", kept[1], gst_caps_new_empty(), gst_caps_ref, gst_caps_unref);
  TWO_LIVES("GstMiniObject", kept[2], gst_event_new_eos(), gst_event_ref, gst_event_unref);
  TWO_LIVES("GstMiniObject", kept[3], gst_message_new_eos(NULL), gst_message_ref, gst_message_unref);
  TWO_LIVES("GstMiniObject", kept[4], gst_tag_list_new_empty(), gst_tag_list_ref, gst_tag_list_unref);
  TWO_LIVES("GstAtomicQueue", kept[5], gst_atomic_queue_new(8), gst_atomic_queue_ref, gst_atomic_queue_unref);
  // A buffer owns its memory: the buffer's last put gives the memory's only reference back.
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, 64, NULL);
  tally("init", "GstMiniObject", buffer);
  GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
  tally("init", "GstMiniObject", memory);
  TAKE("GstMiniObject", memory, gst_memory_ref);
  tally("put", "GstMiniObject", memory);
  GIVE("GstMiniObject", buffer, gst_buffer_unref);
  GIVE("GstMiniObject", memory, gst_memory_unref);
  checkpoint();
  return 0;
}
