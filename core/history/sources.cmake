target_sources(refhist_core PRIVATE history/history.cpp history/folding.cpp history/event_codec.cpp history/object_table.cpp history/event_log.cpp history/ledger.cpp history/stack_table.cpp)
