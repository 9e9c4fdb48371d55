# refhist-run, and the "shell" by which the debugger starts its program.
include(GNUInstallDirs)
add_executable(refhist-run runner/child_sessions.cpp runner/debugger_nursery.cpp runner/coloured.cpp runner/completion.cpp runner/debugger_choice.cpp runner/debugger_script.cpp runner/exec_watch.cpp runner/histories.cpp runner/inherited.cpp runner/launch_server.cpp runner/own_files.cpp runner/refused_order.cpp runner/run_main.cpp
                           runner/run_options.cpp runner/run_session.cpp runner/sending.cpp runner/waiting_child.cpp)
target_link_libraries(refhist-run PRIVATE refhist_fleet)
refhist_unity(refhist-run)
add_executable(refhist-exec runner/exec_main.cpp)
target_include_directories(refhist-exec PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
# The reports of a saved history, without a debugger.
add_executable(refhist-open runner/completion.cpp runner/open_main.cpp runner/own_files.cpp)
set_target_properties(refhist-open PROPERTIES OUTPUT_NAME refhist)
target_link_libraries(refhist-open PRIVATE refhist_fleet)
foreach(program refhist-run refhist-open)
  target_compile_definitions(${program} PRIVATE REFHIST_LIBDIR="${CMAKE_INSTALL_LIBDIR}"
                                                REFHIST_BUILT_FOR_LLDB=${REFHIST_LLDB_VERSION})
endforeach()
# What a user starts stands in bin/, as it does once installed.
set_target_properties(refhist-run refhist-open PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
install(TARGETS refhist-run refhist-open RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS refhist-exec RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/refhist)
