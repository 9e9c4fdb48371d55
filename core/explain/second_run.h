// The program once more, in a debugger of its own, so that the user's session, breakpoints and history stay
// as they are.
#pragma once

#include <string>
#include <vector>

#include "session/session_state.h"

namespace refhist {

inline constexpr double kExplainSeconds = 120;    ///< until it is given up, unless said otherwise
inline constexpr std::size_t kMostExplained = 8;  ///< objects in one second run

struct SecondRun {
  std::string runner;                 ///< refhist-run
  std::string debugger;               ///< "gdb" or "lldb"
  std::vector<std::string> settings;  ///< words for `refhist set`, one entry each
  std::vector<std::string> tracked;   ///< words for `refhist track`, one entry each
  ProgramIdentity program;
  double seconds = kExplainSeconds;  ///< until it is given up

  /// With these words for `refhist follow`, one entry each. `save`: its history goes there, unless empty.
  /// Throws Error: it could not be started, took too long, or failed; Interrupted.
  void run(const std::vector<std::string>& follow, const std::string& save = {}) const;
  /// The same; false when that is not to be had, and what earlier runs have shown has to do. Throws
  /// Interrupted.
  [[nodiscard]] bool try_run(const std::vector<std::string>& follow) const;
  /// Quarantine takes memory as the clock has it, so that objects lie elsewhere in each run.
  [[nodiscard]] bool moves_objects() const;
  [[nodiscard]] SecondRun without_quarantine() const;
};

/// refhist-run, which lies where the shipped families lead to. Throws Error when it is not there.
std::string runner_beside(const std::string& families_folder);

}  // namespace refhist
