// Indirect jumps of one function, and whether BranchTargets has seen everything that they can lead to.
#pragma once

#include <string>

#include "patching/code_range.h"

namespace refhist {

/// Why an indirect jump of the function may go where no table and no pointer tells; empty when none may.
///
/// Clear are: a jump through memory (what is read there is a pointer, which the module's data or relocations
/// show, or its code takes); and a jump through a register that was loaded so, was given by a `lea`, or is
/// the sum of a table's address and an entry of the table. Anything else is computed, as `lea base; shl; add;
/// jmp` in hand-written code. Without `data_known` (BranchTargets::knows_data) none is clear.
std::string unclear_indirect_jump(const CodeRange& function, bool data_known);

}  // namespace refhist
