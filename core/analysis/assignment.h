// Who goes with whom, so that the sum of what it costs is the least.
#pragma once

#include <cstddef>
#include <vector>

namespace refhist {

/// Of each row, its column; each column is taken at most once. `costs`: rows of equal length. Fails if there
/// are more of them than columns. Takes time by rows² x columns.
std::vector<std::size_t> cheapest_assignment(const std::vector<std::vector<double>>& costs);

}  // namespace refhist
