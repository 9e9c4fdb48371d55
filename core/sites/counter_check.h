// Where the code of a family's functions has the counter.
//
// A family's file tells the counter's place for libraries without debug information, as it was in the version
// that its author had. Another version may have it elsewhere, and then every verdict would be wrong. A family
// that its user typed may not tell it at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "symbols/module_map.h"

namespace refhist {

struct CounterByCode {
  std::string module;  ///< path
  std::string get;     ///< the function that was looked at, together with a put: a get, or a maker
  std::string put;     ///< the put
  std::optional<MemberPlace> elsewhere;  ///< nothing: it bears the family out, or does not tell
  /// Of a family that does not tell the counter's place: all that tells it. The path is known where debug
  /// information has the type.
  std::optional<CounterSpec> found;
  std::vector<std::string> rivals;  ///< members that the functions change alike, so that none is `found`
};

/// Nothing while no module has its functions. For families that say where the counter is by `count_offset`,
/// and for those that do not say it.
std::optional<CounterByCode> counter_by_code(const Family& family,
                                             const std::vector<const LoadedModule*>& modules);

}  // namespace refhist
