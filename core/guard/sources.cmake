# A small program of its own that outlives the debugger; embedded in the core, which starts it from memory.
add_executable(refhist_guard base/folder_entries.cpp base/process_file.cpp base/task_status.cpp guard/code_map.cpp guard/guard_main.cpp guard/guarded_program.cpp guard/mended_code.cpp guard/newborn_children.cpp)
target_include_directories(refhist_guard PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(refhist_guard PRIVATE fmt::fmt-header-only)
target_link_options(refhist_guard PRIVATE -static-libstdc++ -static-libgcc -s -Wl,--gc-sections)
set(REFHIST_GUARD_FILE "${CMAKE_CURRENT_BINARY_DIR}/refhist_guard")
add_custom_command(OUTPUT "${REFHIST_GUARD_FILE}.stamp" COMMAND ${CMAKE_COMMAND} -E touch "${REFHIST_GUARD_FILE}.stamp" DEPENDS refhist_guard)
target_sources(refhist_core PRIVATE session/embedded_guard.S)
set_source_files_properties(
  session/embedded_guard.S PROPERTIES COMPILE_DEFINITIONS "REFHIST_GUARD_FILE=\"${REFHIST_GUARD_FILE}\""
                                      OBJECT_DEPENDS "${REFHIST_GUARD_FILE}.stamp")
add_dependencies(refhist_core refhist_guard)
