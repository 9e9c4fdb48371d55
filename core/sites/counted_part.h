// The part of a family's type that its functions are handed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "symbols/module_map.h"

namespace refhist {

/// A family may name the whole (`type` "struct conn", `count` "kref.refs") while its functions take only a
/// part of it (kref_get(struct kref *)). That part is then the object. The same holds for a base class that
/// does not lie at the beginning.
struct CountedPart {
  std::string type;          ///< "struct kref"
  std::string path;          ///< of the counter in it: "refs"
  std::uint64_t behind = 0;  ///< bytes from the whole to it
};

/// Of the first function that takes one. Nothing where each takes the type itself, or no debug information
/// tells.
std::optional<CountedPart> counted_part(const Family& family,
                                        const std::vector<const LoadedModule*>& modules);

}  // namespace refhist
