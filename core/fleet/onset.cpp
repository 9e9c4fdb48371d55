#include "fleet/onset.h"

#include <algorithm>
#include <cmath>

namespace refhist {

namespace {

constexpr double kDoubt = 0.05;

/// As if one more run had been clean: a few runs that all have it are no proof that every run has.
double rate_of(std::uint64_t with, std::uint64_t runs) {
  return static_cast<double>(std::min(with, runs)) / static_cast<double>(runs + 1);
}

}  // namespace

std::uint64_t runs_needed(std::uint64_t with, std::uint64_t runs) {
  if (with == 0 || runs == 0) return 0;
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(std::log(kDoubt) / std::log1p(-rate_of(with, runs)))));
}

std::optional<Onset> find_onset(const std::vector<CommitRuns>& commits) {
  const auto has_it = [](const CommitRuns& commit) { return commit.with != 0; };
  const auto first = std::find_if(commits.begin(), commits.end(), has_it);
  if (first == commits.end()) return std::nullopt;
  Onset onset;
  onset.first = static_cast<std::size_t>(first - commits.begin());
  std::uint64_t runs = 0;
  std::uint64_t with = 0;
  for (std::size_t i = onset.first; i < commits.size(); ++i) {
    if (has_it(commits[i])) onset.last = i;
  }
  for (std::size_t i = onset.first; i < commits.size(); ++i) {
    if (i > onset.last) {
      onset.clean_since += commits[i].runs;
      continue;
    }
    runs += commits[i].runs;
    with += commits[i].with;
  }
  onset.rate = static_cast<double>(with) / static_cast<double>(std::max<std::uint64_t>(runs, 1));
  onset.needed = runs_needed(with, runs);
  for (std::size_t i = onset.first; i-- > 0;) {
    onset.clean_before += commits[i].runs;
    if (commits[i].runs != 0 && !onset.last_not) {
      onset.last_not = i;
      onset.confidence = 1 - std::pow(1 - rate_of(with, runs), static_cast<double>(onset.clean_before));
    }
    if (!onset.surely_not && onset.clean_before >= onset.needed) onset.surely_not = i;
  }
  return onset;
}

}  // namespace refhist
