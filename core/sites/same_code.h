// Whether two functions of a module are one and the same code at two places.
#pragma once

#include "symbols/module.h"

namespace refhist {

/// The same instructions, which mean the same places outside of the two functions and the same ones inside.
bool same_code(const Module& module, const FunctionSymbol& one, const FunctionSymbol& other);

}  // namespace refhist
