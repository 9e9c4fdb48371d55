target_sources(refhist_core PRIVATE
  history/event_codec.cpp
  history/event_log.cpp
  history/folding.cpp
  history/history.cpp
  history/ledger.cpp
  history/object_table.cpp
  history/stack_table.cpp)
