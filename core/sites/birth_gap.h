// Which births of a family will be unseen, and why: told before the first object is called incomplete.
#pragma once

#include <string>
#include <vector>

#include "families/family.h"
#include "sites/site.h"

namespace refhist {

/// One sentence about the family's functions that make objects; empty when all that are known are armed, or
/// when none of the family's functions is known yet. `sites` are all sites of the family.
std::string birth_gap(const Family& family, const std::vector<Site>& sites);

}  // namespace refhist
