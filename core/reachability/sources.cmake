target_sources(refhist_core PRIVATE
  reachability/kernel_pointers.cpp
  reachability/lost_memory.cpp
  reachability/owner_words.cpp
  reachability/reachability.cpp
  reachability/reachability_exit.cpp
  reachability/reachability_layout.cpp
  reachability/reachability_marker.cpp
  reachability/reachability_objects.cpp
  reachability/reachability_places.cpp
  reachability/reachability_roots.cpp
  reachability/reachability_threads.cpp
  reachability/scanned_process.cpp)
