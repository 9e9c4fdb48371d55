target_sources(refhist_core PRIVATE session/default_allocators.cpp session/given_way.cpp session/hit_handler.cpp session/session.cpp session/stop_rules.cpp session/tracker.cpp)
