target_sources(refhist_core PRIVATE
  events/allocations.cpp
  events/block_sizes.cpp
  events/call_tracker.cpp
  events/caller_filter.cpp
  events/large_blocks.cpp
  events/late_changes.cpp
  events/program_access.cpp
  events/recorder.cpp
  events/recorder_conditions.cpp
  events/recorder_memory.cpp
  events/repeated_hits.cpp
  events/second_owners.cpp
  events/signal_frames.cpp
  events/thread_names.cpp)
