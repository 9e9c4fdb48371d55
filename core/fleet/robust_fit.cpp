#include "fleet/robust_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace refhist {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

/// Of the sum of signs where there is no trend. Equal values make it smaller.
double variance_of_signs(const std::vector<double>& values) {
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5); };
  std::map<double, double> equal;
  for (const double value : values) ++equal[value];
  double sum = term(static_cast<double>(values.size()));
  for (const auto& [value, number] : equal) sum -= term(number);
  return sum / 18;
}

double two_sided(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

}  // namespace

RobustFit fit_robustly(const std::vector<double>& values) {
  constexpr std::size_t kFewest = 3;
  RobustFit fit;
  if (values.size() < kFewest) return fit;
  std::vector<double> slopes;
  double signs = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      const double rise = values[j] - values[i];
      slopes.push_back(rise / static_cast<double>(j - i));
      signs += rise > 0 ? 1 : rise < 0 ? -1 : 0;
    }
  }
  fit.slope = median(std::move(slopes));
  std::vector<double> starts;
  for (std::size_t i = 0; i < values.size(); ++i)
    starts.push_back(values[i] - fit.slope * static_cast<double>(i));
  fit.start = median(std::move(starts));
  const double variance = variance_of_signs(values);
  // The sum moves in steps of two: half a step is taken off before it is compared with a continuous curve.
  if (variance > 0 && signs != 0)
    fit.chance = two_sided((signs > 0 ? signs - 1 : signs + 1) / std::sqrt(variance));
  return fit;
}

}  // namespace refhist
