# What runs are sent as, and the questions' arithmetic: no libpq. refhist-fleet adds that.
add_library(refhist_fleet STATIC fleet/answer_text.cpp fleet/finding_record.cpp fleet/fleet_program.cpp fleet/fleet_table.cpp fleet/html_text.cpp fleet/onset.cpp fleet/pages.cpp
            fleet/robust_fit.cpp fleet/run_facts.cpp fleet/run_record.cpp fleet/spool.cpp)
target_link_libraries(refhist_fleet PUBLIC refhist_core PRIVATE PkgConfig::ZSTD)
refhist_unity(refhist_fleet)

pkg_check_modules(LIBPQ IMPORTED_TARGET GLOBAL libpq)
pkg_get_variable(LIBPQ_FOLDER libpq libdir)
target_compile_definitions(refhist_fleet PRIVATE REFHIST_LIBDIR="${CMAKE_INSTALL_LIBDIR}" REFHIST_LIBPQ_FOLDER="${LIBPQ_FOLDER}")
pkg_check_modules(HTTPLIB IMPORTED_TARGET cpp-httplib)
if(NOT LIBPQ_FOUND OR NOT HTTPLIB_FOUND)
  message(STATUS "no refhist-fleet: it needs libpq and cpp-httplib")
  return()
endif()
set(REFHIST_SCHEMA_FILES ${CMAKE_CURRENT_SOURCE_DIR}/fleet/schema/001_runs.sql ${CMAKE_CURRENT_SOURCE_DIR}/fleet/schema/002_triage.sql
                         ${CMAKE_CURRENT_SOURCE_DIR}/fleet/schema/003_histories.sql ${CMAKE_CURRENT_SOURCE_DIR}/fleet/schema/004_projects.sql)
add_executable(refhist-fleet fleet/embedded_schema.S fleet/fleet_commands.cpp fleet/fleet_database.cpp fleet/fleet_main.cpp fleet/page_server.cpp fleet/questions.cpp fleet/run_sender.cpp fleet/saved_run.cpp fleet/schema.cpp)
set_source_files_properties(fleet/embedded_schema.S PROPERTIES COMPILE_OPTIONS "-Wa,-I${CMAKE_CURRENT_SOURCE_DIR}/fleet/schema"
                                                               OBJECT_DEPENDS "${REFHIST_SCHEMA_FILES}")
target_link_libraries(refhist-fleet PRIVATE refhist_fleet PkgConfig::LIBPQ PkgConfig::HTTPLIB PkgConfig::ZSTD)
refhist_unity(refhist-fleet)
install(TARGETS refhist-fleet RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/refhist)
