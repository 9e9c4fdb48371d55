target_sources(refhist_core PRIVATE
  explain/explanation.cpp
  explain/explanation_json.cpp
  explain/second_run.cpp
  explain/twin_objects.cpp)
