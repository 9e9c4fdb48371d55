// Which callers' calls are no events: those that the user has left out, and those that a library makes of its
// own functions where its other counting cannot be seen.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "sites/site.h"
#include "sites/tracked_family.h"
#include "symbols/module_map.h"

namespace refhist {

class CallerFilter {
 public:
  /// `excluded`: globs of functions or of file names of modules.
  CallerFilter(const ModuleMap& modules, const std::vector<std::string>& excluded)
      : modules_(modules), excluded_(excluded) {}

  /// The code that the call returns to is one of those globs'.
  [[nodiscard]] bool excluded(Address return_pc);
  /// A module calls a function of its own that hands out a reference, and gives that back unseen.
  [[nodiscard]] bool is_inner(const TrackedFamily& family, const Site& site, Address return_pc) const;
  /// Modules were loaded or unloaded.
  void forget() { by_return_pc_.clear(); }

 private:
  const ModuleMap& modules_;
  const std::vector<std::string>& excluded_;
  std::unordered_map<Address, bool> by_return_pc_;
};

}  // namespace refhist
