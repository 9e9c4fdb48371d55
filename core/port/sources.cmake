target_sources(refhist_core PRIVATE
  port/code_bytes.cpp
  port/code_memory.cpp
  port/process_memory.cpp
  port/task_numbers.cpp
  port/thread_halt.cpp
  port/traced_registers.cpp
  port/vector_registers.cpp
  port/watchpoint_check.cpp)
