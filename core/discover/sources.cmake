target_sources(refhist_core PRIVATE
  discover/callers.cpp
  discover/discover.cpp
  discover/refcount_evidence.cpp
  discover/refcount_names.cpp)
