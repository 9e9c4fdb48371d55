target_sources(refhist_core PRIVATE sites/armory.cpp sites/birth_gap.cpp sites/clone_reader.cpp sites/indirect_functions.cpp sites/planner.cpp sites/site_table.cpp)
