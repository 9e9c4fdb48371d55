// What the inlined copies of a function do to its object, for `discover`.
#pragma once

#include <string>

#include "discover/refcount_evidence.h"
#include "x86/function_index.h"

namespace refhist {

/// As if the function were walked, with its object as argument 1: by how much most copies change the memory
/// at which distance from it, and which functions that free are called inside of them. That the distance is
/// one from the object is taken from the operands alone (see CounterFinder): the caller compares two
/// functions, and their signatures.
WalkedFunction facts_of_copies(const Module& module, const FunctionIndex& index, const std::string& function);

}  // namespace refhist
