// What a compiler-made clone of a get or put does, read from its code: a clone may have lost or renumbered
// arguments, and a split-off part may or may not hold the change of the counter.
#pragma once

#include <memory>
#include <optional>

#include "families/family.h"
#include "symbols/module.h"

namespace refhist {

/// The argument (1-based) that is the object, when the code at `address` changes the counter of that argument
/// as the role does (`step` +1 or -1). Nothing when it does not, or not recognisably.
std::optional<unsigned> object_argument_of_clone(const std::shared_ptr<const Module>& module, Address address,
                                                 const MemberPlace& counter, const CounterSpec& spec,
                                                 int step);

}  // namespace refhist
