target_sources(refhist_core PRIVATE sites/armory.cpp sites/planner.cpp sites/site_table.cpp)
