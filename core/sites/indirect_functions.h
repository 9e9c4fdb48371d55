// Indirect functions (STT_GNU_IFUNC): the symbol names a resolver, which chooses the function that runs when
// the library is loaded.
#pragma once

#include <vector>

#include "patching/module_code.h"
#include "symbols/module.h"

namespace refhist {

struct FunctionExtent {
  Address address = 0;     ///< in the file
  std::uint64_t size = 0;  ///< bytes, up to the next function that is known
};

/// The functions that the resolver may choose: all whose addresses its code takes. One of them
/// runs whenever the indirect function is called. Empty when the code takes none, because another function
/// chooses.
/// `code`: of that module, with load bias 0.
std::vector<FunctionExtent> functions_to_choose(const Module& module, const ModuleCode& code,
                                                const FunctionSymbol& resolver);

}  // namespace refhist
