// How far a walk over all debug information of a module has come; Ctrl-C ends it.
#pragma once

#include <string>

#include "symbols/debug_units.h"

namespace refhist {

class IndexProgress {
 public:
  explicit IndexProgress(DebugUnits& units) : module_(units.module()), total_(units.all().size()) {}

  void unit() {
    ++unit_;
    ask();
  }
  /// To be called for each entry: a unit may be large.
  void entry() {
    if (++entries_ % kStep == 0) ask();
  }

 private:
  static constexpr std::size_t kStep = 4096;
  void ask() const;

  const std::string& module_;
  std::size_t total_;
  std::size_t unit_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace refhist
