// Indirect jumps of one function, and whether BranchTargets has seen everything that they can lead to.
#pragma once

#include <string>

#include "x86/code_range.h"

namespace refhist {

/// Why an indirect jump of the function may go where no table and no pointer tells; empty when none may.
///
/// A jump through memory goes where a pointer goes, which the module's data, its relocations or a `lea` show.
/// A jump through a register does the same, or goes to a table's address plus an entry of the table. Anything
/// else, as `lea base; add; jmp` in hand-written code or the label differences of a computed goto, starts
/// from the address of a place inside the function: where the function takes none, there is nothing else.
/// Without `data_known` (BranchTargets::knows_data) no indirect jump is clear.
std::string unclear_indirect_jump(const CodeRange& function, bool data_known);

}  // namespace refhist
