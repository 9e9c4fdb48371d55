target_sources(refhist_core PRIVATE base/interruption.cpp base/text.cpp)
