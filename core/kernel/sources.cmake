target_sources(refhist_core PRIVATE
  kernel/kernel.cpp
  kernel/kernel_file.cpp
  kernel/kernel_search.cpp
  kernel/kernel_tasks.cpp
  kernel/slab_caches.cpp
  kernel/task_layout.cpp)
