target_sources(refhist_core PRIVATE
  events/allocations.cpp
  events/call_tracker.cpp
  events/late_changes.cpp
  events/program_access.cpp
  events/recorder.cpp
  events/repeated_hits.cpp
  events/signal_frames.cpp
  events/thread_names.cpp)
