// Which functions of a module reach another one of it: by a direct call, or because it was inlined into them.
#pragma once

#include <set>
#include <string>

#include "symbols/module.h"

namespace refhist {

/// As a probe writes it: the C name, or the C++ name without parameters.
std::string probe_name(const std::string& symbol);
/// Names as a probe writes them. An empty one stands for code without a symbol. Bytes that only look like a
/// call may name one function too many. Calls through pointers and the procedure linkage table are not seen.
std::set<std::string> callers_of(const Module& module, const FunctionSymbol& function);
/// The same of the inlined copies.
std::set<std::string> holders_of_copies(const Module& module, const std::string& function);

}  // namespace refhist
