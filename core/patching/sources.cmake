target_sources(refhist_core PRIVATE patching/placeholder.cpp)
