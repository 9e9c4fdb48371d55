target_sources(refhist_core PRIVATE port/process_memory.cpp port/task_numbers.cpp port/thread_halt.cpp port/traced_registers.cpp port/vector_registers.cpp)
