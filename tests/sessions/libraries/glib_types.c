// The counted types of GLib that are no GObjects, each taken and given back by its own functions.
#include <glib-object.h>

#include "tally.h"

static void *new_variant(void) { return g_variant_ref_sink(g_variant_new_string("text")); }

// Ownership that moves: the table takes over a reference and gives it back when it is emptied.
static void reference_in_a_table(void) {
  GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_bytes_unref);
  tally("init", "GHashTable", table);
  GBytes *bytes = g_bytes_new_static("stored", 6);
  tally("init", "GBytes", bytes);
  TAKE("GBytes", bytes, g_bytes_ref);
  g_hash_table_insert(table, "key", bytes);
  tally("put", "GBytes", bytes);  // g_hash_table_destroy gives the table's reference back
  GIVE("GHashTable", table, g_hash_table_destroy);
  GIVE("GBytes", bytes, g_bytes_unref);
}

int main(void) {
  static void *kept[12];
  TWO_LIVES("GBytes", kept[0], g_bytes_new("bytes", 5), g_bytes_ref, g_bytes_unref);
  TWO_LIVES("GVariant", kept[1], new_variant(), g_variant_ref, g_variant_unref);
  TWO_LIVES("GHashTable", kept[2], g_hash_table_new(NULL, NULL), g_hash_table_ref, g_hash_table_unref);
  TWO_LIVES("GArray", kept[3], g_array_new(FALSE, FALSE, 4), g_array_ref, g_array_unref);
  TWO_LIVES("GPtrArray", kept[4], g_ptr_array_new(), g_ptr_array_ref, g_ptr_array_unref);
  TWO_LIVES("GDateTime", kept[5], g_date_time_new_utc(2024, 2, 29, 12, 0, 0), g_date_time_ref,
            g_date_time_unref);
  TWO_LIVES("GKeyFile", kept[6], g_key_file_new(), g_key_file_ref, g_key_file_unref);
  TWO_LIVES("GTree", kept[7], g_tree_new((GCompareFunc)g_strcmp0), g_tree_ref, g_tree_unref);
  TWO_LIVES("GMainLoop", kept[8], g_main_loop_new(NULL, FALSE), g_main_loop_ref, g_main_loop_unref);
  TWO_LIVES("GSource", kept[9], g_idle_source_new(), g_source_ref, g_source_unref);
  TWO_LIVES("g_rc_box", kept[10], g_rc_box_alloc(24), g_rc_box_acquire, g_rc_box_release);
  TWO_LIVES("g_atomic_rc_box", kept[11], g_atomic_rc_box_alloc(24), g_atomic_rc_box_acquire,
            g_atomic_rc_box_release);
  reference_in_a_table();
  checkpoint();
  return 0;
}
