target_sources(refhist_core PRIVATE
  discover/callers.cpp
  discover/handed_out.cpp
  discover/discover.cpp
  discover/hand_counted.cpp
  discover/refcount_evidence.cpp
  discover/refcount_names.cpp)
