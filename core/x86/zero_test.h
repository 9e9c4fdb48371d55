// Where an inlined put finds that it is the last one. The compiler leaves out the store of zero when the
// object is given back right there: nobody would read it.
#pragma once

#include <cstdint>
#include <optional>

#include "x86/counter_instruction.h"
#include "x86/register_distances.h"

namespace refhist {

struct ZeroTest {
  CounterInstruction instruction;  ///< of kind `last`: the instruction that compares
  Address zero_side = 0;           ///< where it goes on when the count becomes zero
};

/// `test` sets the flags that `jump`, right behind it, looks at; what the registers hold at `test` tells what
/// it tests. Nothing when that is no memory, or is not compared with a power of two.
std::optional<ZeroTest> zero_test(const DecodedInstruction& test, const DecodedInstruction& jump,
                                  const RegisterDistances& before);

/// The same for a register that `load`, right before `test`, has loaded: the place is that of the load.
std::optional<ZeroTest> zero_test(const DecodedInstruction& load, const DecodedInstruction& test,
                                  const DecodedInstruction& jump);

/// False: zero_test tells nothing of it, neither as a test nor as a load.
bool may_be_tested(const DecodedInstruction& instruction);

}  // namespace refhist
