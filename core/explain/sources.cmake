target_sources(refhist_core PRIVATE
  explain/correct_siblings.cpp
  explain/explanation.cpp
  explain/explanation_json.cpp
  explain/follow_orders.cpp
  explain/known_pairs.cpp
  explain/loss_place.cpp
  explain/loss_runs.cpp
  explain/over_put.cpp
  explain/put_match.cpp
  explain/put_references.cpp
  explain/put_runs.cpp
  explain/second_run.cpp
  explain/twin_objects.cpp)
