// The findings as JUnit XML, which GitLab, Jenkins and others show.
#pragma once

#include <string>

#include "reports/check.h"
#include "reports/source_places.h"
#include "session/session_state.h"

namespace refhist {

/// One test case for the session of each process, and one for each finding: a failure where it fails the
/// check, skipped where it is known or suppressed. A session that failed is an error.
std::string junit_report(const Check& check, const SourcePlaces& places);

}  // namespace refhist
