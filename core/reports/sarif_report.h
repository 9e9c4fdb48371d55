// The findings as SARIF 2.1.0, which GitHub's code scanning and editors show.
#pragma once

#include <string>

#include "reports/check.h"
#include "reports/source_places.h"
#include "session/session_state.h"

namespace refhist {

std::string sarif_report(const Check& check, const SourcePlaces& places);

}  // namespace refhist
