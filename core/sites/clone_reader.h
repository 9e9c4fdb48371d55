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

/// What becomes of the object that a function has made.
enum class MakerResult : std::uint8_t {
  object,   ///< it is returned, as far as the code tells
  unclear,  ///< something is returned that may not be it
  lost,     ///< what is returned is something else
};

/// Where no caller takes the result, a compiler leaves it out, and what lies in the register is anything.
/// `counter`: of the object; without one, only a result that is always a number is known not to be it.
MakerResult maker_result(const std::shared_ptr<const Module>& module, Address address,
                         const std::optional<MemberPlace>& counter);

}  // namespace refhist
