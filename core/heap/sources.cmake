target_sources(refhist_core PRIVATE
  heap/heap_arenas.cpp
  heap/heap_bitmap.cpp
  heap/heap_chunks.cpp
  heap/heap_free_lists.cpp
  heap/heap_image.cpp
  heap/heap_map.cpp
  heap/heap_mapped.cpp
  heap/heap_walker.cpp
  heap/python_pools.cpp
  heap/reachability_memory.cpp
  heap/reachability_ranges.cpp)
