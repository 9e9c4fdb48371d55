// Where the code of a family's functions has the counter.
//
// A family's file tells the counter's place for libraries without debug information, as it was in the version
// that its author had. Another version may have it elsewhere, and then every verdict would be wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "symbols/module_map.h"

namespace refhist {

struct CounterByCode {
  std::string module;                    ///< path
  std::string get;                       ///< the function that was looked at, together with a put
  std::optional<MemberPlace> elsewhere;  ///< nothing: it bears the family out, or does not tell
};

/// Nothing while no module has its functions. For families that say where the counter is, by `count_offset`.
std::optional<CounterByCode> counter_by_code(const Family& family,
                                             const std::vector<const LoadedModule*>& modules);

}  // namespace refhist
