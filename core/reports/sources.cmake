target_sources(refhist_core PRIVATE reports/findings.cpp reports/history_report.cpp reports/json_report.cpp reports/leak_report.cpp reports/status_report.cpp)
