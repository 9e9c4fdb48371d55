target_sources(refhist_core PRIVATE
  reports/analysis_report.cpp
  reports/baseline.cpp
  reports/blind_spots.cpp
  reports/check.cpp
  reports/check_report.cpp
  reports/cycle_path.cpp
  reports/finding_list.cpp
  reports/findings.cpp
  reports/fold_notes.cpp
  reports/folded_report.cpp
  reports/history_report.cpp
  reports/html_report.cpp
  reports/json_report.cpp
  reports/junit_report.cpp
  reports/leak_report.cpp
  reports/listed_leaks.cpp
  reports/member_names.cpp
  reports/reference_report.cpp
  reports/sarif_report.cpp
  reports/source_excerpt.cpp
  reports/source_places.cpp
  reports/status_report.cpp
  reports/suppressions.cpp
  reports/verdict_list.cpp
  reports/xml_text.cpp
  reports/embedded_page.S)
set(REFHIST_PAGE_FILE "${CMAKE_CURRENT_SOURCE_DIR}/reports/page/report.html")
set_source_files_properties(
  reports/embedded_page.S PROPERTIES COMPILE_DEFINITIONS "REFHIST_PAGE_FILE=\"${REFHIST_PAGE_FILE}\"" OBJECT_DEPENDS
                                     "${REFHIST_PAGE_FILE}")
