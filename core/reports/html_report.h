// The findings as one page for a browser, with everything in it: no network is needed to read it.
#pragma once

#include <string>

#include "reports/check.h"
#include "reports/source_places.h"
#include "session/session_state.h"

namespace refhist {

std::string html_report(const Check& check, const SourcePlaces& places);

}  // namespace refhist
