// How many references a new object has, as the code of what makes it stores them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "symbols/module_map.h"

namespace refhist {

struct BornByCode {
  std::optional<std::int64_t> references;  ///< nothing: the code does not tell
  std::string function;                    ///< the constructor or maker that stores them
};

/// By the constructors and makers of the family in the modules that store a constant at the counter; where
/// they differ, the least. Nothing while no module has them.
std::optional<BornByCode> born_by_code(const Family& family, const MemberPlace& counter,
                                       const std::vector<const LoadedModule*>& modules);

}  // namespace refhist
