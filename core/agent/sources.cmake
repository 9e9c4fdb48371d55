# The agent: a shared object without any library, embedded in the core and put into the program by it.
set(REFHIST_AGENT_SOURCES agent/agent.cpp agent/agent_threads.cpp agent/watched_objects.cpp agent/rule_watch.cpp ${REFHIST_STACK_WALKER_SOURCES})
add_library(refhist_agent MODULE ${REFHIST_AGENT_SOURCES})
target_include_directories(refhist_agent PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(
  refhist_agent PRIVATE ${REFHIST_AGENT_FLAGS} -flto -g0 -mfsgsbase -mcx16 -fno-threadsafe-statics -fcf-protection=none)
# Link-time optimization makes debug information all the same. Its numbers look like addresses in what embeds it.
target_link_options(refhist_agent PRIVATE -flto -Wl,--strip-debug -nostdlib -nostartfiles -Wl,--no-undefined -Wl,--build-id=none -Wl,-z,norelro
                    -Wl,-z,noseparate-code -Wl,--hash-style=sysv)
set(REFHIST_AGENT_FILE "${CMAKE_CURRENT_BINARY_DIR}/refhist_agent.so")
set_target_properties(refhist_agent PROPERTIES PREFIX "" SUFFIX ".so" CXX_VISIBILITY_PRESET hidden)
add_custom_command(OUTPUT "${REFHIST_AGENT_FILE}.stamp" COMMAND ${CMAKE_COMMAND} -E touch "${REFHIST_AGENT_FILE}.stamp" DEPENDS refhist_agent)

# Embedded as bytes.
enable_language(ASM)
target_sources(refhist_core PRIVATE agent_host/embedded_agent.S)
set_source_files_properties(
  agent_host/embedded_agent.S PROPERTIES COMPILE_DEFINITIONS "REFHIST_AGENT_FILE=\"${REFHIST_AGENT_FILE}\""
                                         OBJECT_DEPENDS "${REFHIST_AGENT_FILE}.stamp")
add_dependencies(refhist_core refhist_agent)
