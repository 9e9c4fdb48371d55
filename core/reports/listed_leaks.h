// The groups of outstanding objects that a report lists, and how many it leaves out.
#pragma once

#include <string>
#include <vector>

#include "analysis/leaks.h"
#include "reports/findings.h"
#include "session/session_state.h"

namespace refhist {

struct ListedLeaks {
  std::vector<LeakGroup> groups;
  std::size_t reachable = 0;   ///< objects that the program can still reach, listed or not
  std::size_t suppressed = 0;  ///< objects of groups that are not listed because of a suppression
  std::vector<std::string> notes;
};

/// `suppressions`: a file, or empty. Throws Error when it cannot be read.
ListedLeaks list_leaks(SessionState& state, const FindingFilter& filter, const std::string& suppressions);

}  // namespace refhist
