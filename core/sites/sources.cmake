target_sources(refhist_core PRIVATE
  sites/birth_gap.cpp
  sites/breakpoints.cpp
  sites/clone_reader.cpp
  sites/counter_check.cpp
  sites/counter_finder.cpp
  sites/counting_calls.cpp
  sites/forwarded.cpp
  sites/indirect_functions.cpp
  sites/inlined_facts.cpp
  sites/inlined_sites.cpp
  sites/memory_changes.cpp
  sites/nameless_copies.cpp
  sites/object_place.cpp
  sites/planner.cpp
  sites/same_code.cpp
  sites/site_table.cpp
  sites/thunk.cpp)
