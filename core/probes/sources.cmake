find_library(REFHIST_ZYDIS Zydis REQUIRED)
target_link_libraries(refhist_core PRIVATE ${REFHIST_ZYDIS})
target_sources(refhist_core PRIVATE
  probes/family.cpp
  probes/family_catalog.cpp
  probes/family_file.cpp
  probes/family_toml.cpp
  probes/function_pattern.cpp
  probes/import_slots.cpp
  probes/function_index.cpp
  probes/value_table.cpp
  probes/machine_state.cpp
  probes/known_functions.cpp
  probes/instruction.cpp
  probes/instruction_effects.cpp
  probes/code_walker.cpp
  probes/refcount_names.cpp
  probes/refcount_evidence.cpp
  probes/discover.cpp
)
