# What captures stacks inside the debugged program. Here it is a library of its own for the unit tests and the bench,
# built as the agent is: no library, no exceptions, no vector registers.
set(REFHIST_STACK_WALKER_SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/frame_step.cpp
  ${CMAKE_CURRENT_LIST_DIR}/previous_stack.cpp
  ${CMAKE_CURRENT_LIST_DIR}/readable_memory.cpp
  ${CMAKE_CURRENT_LIST_DIR}/rule_finder.cpp
  ${CMAKE_CURRENT_LIST_DIR}/stack_trie.cpp
  ${CMAKE_CURRENT_LIST_DIR}/stack_walker.cpp)
set(REFHIST_AGENT_FLAGS
  -O2 -ffreestanding -nostdlib -mgeneral-regs-only -fno-exceptions -fno-rtti -fno-stack-protector -fPIC
  -fvisibility=hidden)

add_library(refhist_stack_walker STATIC ${REFHIST_STACK_WALKER_SOURCES})
target_compile_options(refhist_stack_walker PRIVATE ${REFHIST_AGENT_FLAGS})
target_include_directories(refhist_stack_walker PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
