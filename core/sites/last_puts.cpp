#include "sites/last_puts.h"

#include "x86/instruction.h"
#include "x86/known_functions.h"
#include "x86/value_trail.h"

namespace refhist {

bool LastPuts::is_one(const MemoryChange& test, const std::set<Address>& puts) {
  constexpr unsigned kMostPassed = 48;  // instructions: what a short destructor does
  if (test.zero_side == 0 || test.instruction.base == CounterInstruction::kNoRegister) return false;
  ValueTrail trail(test.instruction.base);
  Address at = test.zero_side;
  DecodedInstruction instruction;
  for (unsigned count = 0; count < kMostPassed; ++count) {
    if (puts.contains(at) || !read_instruction(module_, at, instruction)) return false;
    const bool leaves = instruction.is_call() || instruction.is_jump();
    const auto target = leaves ? instruction.entered() : std::nullopt;
    if (target && freed_argument(names_.imported(*target)) == 1U)
      return trail.above(static_cast<unsigned>(kRdi)).has_value();
    trail.follow(instruction);
    if (instruction.is_jump()) {
      const auto to = instruction.branch_target();
      if (!to) return false;
      at = *to;
    } else {
      if (instruction.is_branch() || !instruction.falls_through()) return false;
      at = instruction.next();
    }
  }
  return false;
}

}  // namespace refhist
