// Which variables of a function point at something, and where they are held, at one place in its code.
#pragma once

#include <vector>

#include "symbols/dwarf_die.h"
#include "symbols/type_spelling.h"

namespace refhist {

/// As Module::pointers_at. `function`: the one that has the code.
std::vector<LocalPointer> local_pointers(const Dwarf_Die& function, Address at, const TypeSpelling& types);

}  // namespace refhist
