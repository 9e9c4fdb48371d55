// Since when a finding is there, told from runs that show it and runs that do not: a flaky one may have been
// there before it was first seen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace refhist {

/// The runs of one commit.
struct CommitRuns {
  std::uint64_t runs = 0;
  std::uint64_t with = 0;  ///< of them, those that show the finding
};

struct Onset {
  std::size_t first = 0;                ///< the first commit that has it
  std::optional<std::size_t> last_not;  ///< the last one before that whose runs are all clean
  double rate = 0;  ///< how many of the runs show it from the first commit to the last that has it
  std::uint64_t clean_before = 0;  ///< runs before `first`, all of them without it
  double confidence = 0;           ///< that it was not there in `last_not`: 0 … 1
  /// Runs without it that show with 95% confidence that it is not there.
  std::uint64_t needed = 1;
  /// The newest commit before `first` behind which lie at least `needed` clean runs, its own among them: with
  /// 95% confidence it came in after this one. None: there are too few.
  std::optional<std::size_t> surely_not;
  std::size_t last = 0;           ///< the last commit that has it
  std::uint64_t clean_since = 0;  ///< runs behind that, all clean
};

/// The commits in their order. Nothing when none has it.
std::optional<Onset> find_onset(const std::vector<CommitRuns>& commits);

/// How many runs without it show with 95% confidence that what `with` of `runs` had is not there.
std::uint64_t runs_needed(std::uint64_t with, std::uint64_t runs);

}  // namespace refhist
