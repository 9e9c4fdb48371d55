// How far a walk over all debug information of a module has come; Ctrl-C ends it.
#pragma once

#include <string>

#include "symbols/debug_units.h"

namespace refhist {

class IndexProgress {
 public:
  explicit IndexProgress(DebugUnits& units) : units_(units), total_(units.all().size()) {}

  void unit() {
    ++unit_;
    ask();
  }
  /// To be called for each entry: a unit may be large.
  void entry() {
    if (++entries_ % kStep == 0) ask();
    if (entries_ % kPageStep == 0) units_.let_go_of_pages();
  }
  /// Behind the last unit, what has been found is sorted: to be called for each comparison.
  void sorting() {
    if (++comparisons_ % kSortStep == 0) ask_sorting();
  }

 private:
  static constexpr std::size_t kStep = 4096;
  static constexpr std::size_t kPageStep = std::size_t{1} << 18;  // a few megabytes
  static constexpr std::size_t kSortStep = std::size_t{1} << 20;
  void ask() const;
  void ask_sorting() const;

  DebugUnits& units_;
  std::size_t total_;
  std::size_t unit_ = 0;
  std::size_t entries_ = 0;
  std::size_t comparisons_ = 0;
};

}  // namespace refhist
