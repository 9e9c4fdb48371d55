target_sources(refhist_core PRIVATE base/at_prompt.cpp base/interruption.cpp base/other_processors.cpp base/replaced_file.cpp base/task_status.cpp base/text.cpp base/user_path.cpp base/version.cpp)
