target_sources(refhist_core PRIVATE sites/armory.cpp sites/clone_reader.cpp sites/planner.cpp sites/site_table.cpp)
