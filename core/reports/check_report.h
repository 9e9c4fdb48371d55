// The judgement of a session as people read it.
#pragma once

#include <string>

#include "reports/check.h"
#include "session/session_state.h"

namespace refhist {

std::string check_report(const Check& check);

}  // namespace refhist
