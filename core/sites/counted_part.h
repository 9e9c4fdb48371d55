// The part of a family's type that its functions are handed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "symbols/module_map.h"

namespace refhist {

/// A family may name the whole (`type` "struct conn", `count` "kref.refs"), and functions that know the part
/// alone (kref_get(struct kref *)): then the part is the object, wherever it lies. So is a base class that
/// does not lie at the beginning.
struct CountedPart {
  std::string type;  ///< "struct kref"
  std::string path;  ///< of the counter in it: "refs"
};

/// Nothing where the functions take the type itself, or where no debug information tells.
std::optional<CountedPart> counted_part(const Family& family,
                                        const std::vector<const LoadedModule*>& modules);

}  // namespace refhist
