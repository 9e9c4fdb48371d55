target_sources(refhist_core PRIVATE
  agent_tables/compact_cfi.cpp
  agent_tables/frame_program.cpp
  agent_tables/frame_section.cpp
  agent_tables/rule_encoder.cpp
  agent_tables/stack_nodes.cpp
  agent_tables/walker_memory.cpp)
