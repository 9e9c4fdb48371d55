// Where a debugger puts breakpoints into a function that nobody tells of: `step` into it, `advance` and
// `until`, and `break f` until it is seen.
#pragma once

#include <optional>
#include <vector>

#include "port/debugger_port.h"
#include "symbols/module_map.h"
#include "x86/code_range.h"
#include "x86/prologue.h"

namespace refhist {

/// Behind its prologue, as far as the lines in the debug information tell. `function`: in memory.
std::vector<Address> debugger_stops(const DebuggerPort& port, const LoadedModule& module,
                                    const CodeRange& function);

/// LLDB's place of these: a step into the function ends there.
Address stop_of_lldb(const LoadedModule& module, const CodeRange& function);

/// Around an instruction in the middle of a function: where a step over the line before ends.
std::vector<Address> line_stops(const DebuggerPort& port, const LoadedModule& module, Address instruction);

/// What a thread at a function's entry is like where the debugger shows the arguments. Nothing where they are
/// right at the entry, or the module has no debug information.
std::optional<PrologueEnd> run_to_arguments(const DebuggerPort& port, const LoadedModule& module,
                                            const Registers& at_entry);

}  // namespace refhist
