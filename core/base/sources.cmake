target_sources(refhist_core PRIVATE base/text.cpp)
