target_sources(refhist_core PRIVATE
  patching/decoded_instruction.cpp patching/function_start.cpp
  patching/prologue.cpp
  patching/module_code.cpp
  patching/branch_targets.cpp
  patching/indirect_jumps.cpp
  patching/movable.cpp
  patching/patch.cpp
  patching/relocator.cpp
  patching/stack_arguments.cpp
  patching/stack_state.cpp
)
