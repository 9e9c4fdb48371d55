// What refhist explain has found out, as JSON (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "explain/explanation.h"

namespace refhist {

std::string explanations_json(SessionState& state, const std::vector<Explanation>& all);

}  // namespace refhist
