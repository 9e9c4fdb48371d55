target_sources(refhist_core PRIVATE
  analysis/heap_arenas.cpp
  analysis/heap_bitmap.cpp
  analysis/heap_chunks.cpp
  analysis/heap_free_lists.cpp
  analysis/heap_image.cpp
  analysis/heap_map.cpp
  analysis/heap_mapped.cpp
  analysis/heap_walker.cpp
  analysis/lost_memory.cpp
  analysis/owner_words.cpp
  analysis/reachability.cpp
  analysis/scanned_process.cpp
  analysis/reachability_exit.cpp
  analysis/reachability_layout.cpp
  analysis/reachability_marker.cpp
  analysis/reachability_memory.cpp
  analysis/reachability_objects.cpp
  analysis/reachability_places.cpp
  analysis/reachability_ranges.cpp
  analysis/reachability_roots.cpp
  analysis/reachability_threads.cpp)
target_sources(refhist_core PRIVATE analysis/activation_trail.cpp analysis/assignment.cpp analysis/balance_tree.cpp analysis/birthplaces.cpp analysis/call_paths.cpp analysis/clean_profiles.cpp analysis/code_graph.cpp analysis/code_jumps.cpp analysis/dynamic_types.cpp analysis/end_calls.cpp analysis/event_pairs.cpp analysis/folded_places.cpp analysis/frame_namer.cpp analysis/function_ways.cpp analysis/growth.cpp analysis/helper_frames.cpp analysis/jump_statement.cpp analysis/leaks.cpp analysis/lifetime.cpp analysis/managed_objects.cpp analysis/owners.cpp analysis/reference_pairs.cpp analysis/release_depth.cpp analysis/slot_names.cpp analysis/stack_places.cpp analysis/suspects.cpp analysis/tail_calls.cpp analysis/ways_out.cpp)
