// Types that code counts by hand or by macros, without any function that takes or gives back a reference:
// `request->conn = conn; conn->refs++;` and `if (--conn->refs == 0) conn_destroy(conn);`.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "discover/discover.h"

namespace refhist {

/// Those of which the modules' code shows everything: that an object is made with one reference in it, that
/// one is taken, and that the object is given back with the last one. `known`: types that have a family
/// already.
std::vector<Proposal> hand_counted(const std::vector<std::shared_ptr<const Module>>& modules,
                                   const std::set<std::string>& known);

}  // namespace refhist
