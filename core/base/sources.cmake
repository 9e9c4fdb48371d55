target_sources(refhist_core PRIVATE base/interruption.cpp base/task_status.cpp base/text.cpp base/user_path.cpp)
