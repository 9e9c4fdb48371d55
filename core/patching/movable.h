// Whether one covered instruction can run at another address.
#pragma once

#include <string>

#include "x86/decoded_instruction.h"

namespace refhist {

/// What is covered, and of what function.
struct Covered {
  Address function = 0;
  Address function_end = 0;
  Address first = 0;
  Address last = 0;  ///< behind the covered bytes
  [[nodiscard]] bool strictly_inside(Address at) const { return at > first && at < last; }
};

/// Why the instruction cannot be moved; empty when it can.
std::string why_not_movable(const DecodedInstruction& instruction, const Covered& covered);

}  // namespace refhist
