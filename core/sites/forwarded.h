// Exported functions that only hand on: the work is in a function without a name that the library's own code
// calls as well, as g_source_unref_internal behind g_source_unref.
#pragma once

#include <optional>

#include "families/family.h"
#include "symbols/module.h"

namespace refhist {

/// Where the function goes on, when it leaves the counter to what it jumps to at its end, that is no named
/// function, and gets the object as the same argument and changes the counter as the role says.
std::optional<Address> forwarded_to(const Module& module, const FunctionSymbol& function,
                                    const ProbeSpec& probe, const MemberPlace& counter,
                                    const CounterSpec& spec);

}  // namespace refhist
