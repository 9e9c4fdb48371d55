// When the first suspect is more than a candidate: what it was found by leaves no other place, as far as
// programs whose mistakes are known have shown (docs/accuracy.md).
#pragma once

#include <vector>

#include "analysis/suspects.h"

namespace refhist {

/// Sets the confidence of the first one to "named" where that is so.
void name_first(std::vector<Suspect>& suspects);

}  // namespace refhist
