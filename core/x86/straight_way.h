// The instructions of a function that ran, one after the other, before it came to one of them.
//
// The way is followed backwards as long as there is only one instruction that control can have come from. It
// ends where two ways meet, where the function begins, and in functions with jumps through tables at every
// jump. What it holds has run, whatever else has.
#pragma once

#include <vector>

#include "symbols/module.h"
#include "x86/decoded_instruction.h"

namespace refhist {

struct StraightWay {
  std::vector<DecodedInstruction> instructions;  ///< in the order in which they ran; empty when none is known
  bool from_entry = false;                       ///< the first one is the function's first
};

/// To the instruction at `end`, in the file, which is not part of it.
StraightWay straight_way(const Module& module, Address end);
/// To the instruction that ends at this address, which is the last one.
StraightWay straight_way_through(const Module& module, Address behind);
/// The same of a call.
StraightWay straight_way_through_call(const Module& module, Address return_address);

}  // namespace refhist
