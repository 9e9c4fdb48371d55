target_sources(refhist_core PRIVATE history/history.cpp history/ledger.cpp history/stack_table.cpp)
