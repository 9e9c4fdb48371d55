// Whether a series of measurements rises: Theil and Sen's slope, and Mann and Kendall's test. Neither is
// moved by a few outliers, as a line through all points (least squares) or through two of them is.
#pragma once

#include <vector>

namespace refhist {

struct RobustFit {
  double slope = 0;   ///< the median of the slopes between all pairs: units of the values for one step
  double start = 0;   ///< the fitted value at the first measurement
  double chance = 1;  ///< probability that values without any trend rise or fall like this, two-sided; 0 … 1
};

/// `values` are one step apart. With fewer than three nothing is said (slope 0, chance 1). Takes time in
/// proportion to the square of their number.
RobustFit fit_robustly(const std::vector<double>& values);

}  // namespace refhist
