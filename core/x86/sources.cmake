find_library(REFHIST_ZYDIS Zydis REQUIRED)
target_link_libraries(refhist_core PRIVATE ${REFHIST_ZYDIS})
target_sources(refhist_core PRIVATE
  x86/branch_targets.cpp
  x86/clobbered_registers.cpp
  x86/code_graph.cpp
  x86/code_jumps.cpp
  x86/code_walker.cpp
  x86/code_ways.cpp
  x86/counter_instruction.cpp
  x86/decoded_instruction.cpp
  x86/function_index.cpp
  x86/function_start.cpp
  x86/import_slots.cpp
  x86/indirect_jumps.cpp
  x86/instruction.cpp
  x86/instruction_effects.cpp
  x86/known_functions.cpp
  x86/machine_state.cpp
  x86/memory_copy.cpp
  x86/name_words.cpp
  x86/place_reads.cpp
  x86/prologue.cpp
  x86/register_distances.cpp
  x86/stack_arguments.cpp
  x86/stack_state.cpp
  x86/stepped_loads.cpp
  x86/straight_way.cpp
  x86/taken_arguments.cpp
  x86/value_origin.cpp
  x86/value_table.cpp
  x86/value_trail.cpp
  x86/zero_test.cpp)
