target_sources(refhist_core PRIVATE
  probes/family.cpp
  probes/family_catalog.cpp
  probes/family_file.cpp
  probes/family_toml.cpp
  probes/function_pattern.cpp
)
