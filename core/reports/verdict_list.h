// Lists of verdicts as users write them.
#pragma once

#include <string>
#include <vector>

#include "history/history.h"

namespace refhist {

/// "leak,imbalance": verdicts separated by commas; imbalance stands for over-put, use-after-free,
/// resurrection and free-while-referenced; "none" alone for no verdict. Throws Error with the nearest.
std::vector<Verdict> verdicts_of(const std::string& list);
std::vector<Verdict> all_verdicts();

}  // namespace refhist
