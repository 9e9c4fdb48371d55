target_sources(refhist_core PRIVATE port/process_memory.cpp port/vector_registers.cpp)
