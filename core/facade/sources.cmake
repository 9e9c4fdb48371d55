target_sources(refhist_core PRIVATE
  facade/session.cpp)
