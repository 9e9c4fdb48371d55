// The SB API cannot make internal breakpoints. Ours carry a breakpoint name instead that keeps them out
// of `breakpoint list` and of `breakpoint delete` and `disable` without numbers.
#pragma once

#include <lldb/API/LLDB.h>

namespace refhist {

void hide(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint);
bool is_hidden(lldb::SBBreakpoint& breakpoint);

}  // namespace refhist
