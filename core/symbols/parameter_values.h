// Where debug information says that the value of a function's parameter is while an inlined copy of it runs.
#pragma once

#include <vector>

#include "symbols/dwarf_die.h"

namespace refhist {

/// Of the copy's parameters, by their positions in the function; empty for those of which nothing is told.
/// Only what a register or the frame holds, with a number added, and addresses of variables: where the value
/// is computed otherwise, nothing is said. `into`: the function that has the copy; null where that is not
/// known.
std::vector<std::vector<ParameterValue>> parameter_values(const Dwarf_Die& copy, const Dwarf_Die* into);

}  // namespace refhist
