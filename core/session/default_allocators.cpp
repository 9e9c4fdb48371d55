#include "session/default_allocators.h"

#include <algorithm>
#include <string>

namespace refhist {

namespace {

struct Default {
  const char* family;
  std::vector<std::string> modules;  ///< instead of the family's; empty: those
};

const std::vector<Default>& defaults() {
  static const std::vector<Default> all{{"malloc", {}},
                                        // Those of the C++ libraries are made on malloc.
                                        {"operator-new", {"!libstdc++.so*", "!libc++.so*", "!libc++abi.so*"}},
                                        {"GSlice", {}}};
  return all;
}

}  // namespace

bool share_function(const Family& one, const Family& other) {
  return std::any_of(one.probes.begin(), one.probes.end(), [&](const ProbeSpec& mine) {
    return std::any_of(other.probes.begin(), other.probes.end(),
                       [&](const ProbeSpec& theirs) { return mine.function == theirs.function; });
  });
}

std::vector<TrackedFamily> missing_allocators(SessionState& state) {
  std::vector<TrackedFamily> missing;
  if (!state.recorder.options().allocators) return missing;
  for (const Default& wanted : defaults()) {
    for (Family& family : state.shipped().find(wanted.family)) {
      const bool taken =
          std::any_of(state.families.begin(), state.families.end(), [&](const TrackedFamily& tracked) {
            return !tracked.untracked && share_function(tracked.family, family);
          });
      if (taken) continue;
      if (!wanted.modules.empty()) family.modules = wanted.modules;
      TrackedFamily& tracked = missing.emplace_back();
      tracked.family = std::move(family);
      tracked.by_default = true;
    }
  }
  return missing;
}

}  // namespace refhist
