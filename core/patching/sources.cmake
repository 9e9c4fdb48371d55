target_sources(refhist_core PRIVATE
  patching/module_code.cpp
  patching/movable.cpp
  patching/patch.cpp
  patching/relocator.cpp)
