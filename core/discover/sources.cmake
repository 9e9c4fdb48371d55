target_sources(refhist_core PRIVATE
  discover/discover.cpp
  discover/refcount_evidence.cpp
  discover/refcount_names.cpp)
