target_sources(refhist_core PRIVATE
  families/family.cpp
  families/family_catalog.cpp
  families/family_file.cpp
  families/family_toml.cpp
  families/function_pattern.cpp)
