target_sources(refhist_core PRIVATE history/history.cpp history/event_log.cpp history/ledger.cpp history/stack_table.cpp)
