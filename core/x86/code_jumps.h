// What the machine code of a function tells about calls and jumps, read instruction by instruction from its
// first byte on.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "symbols/module.h"

namespace refhist {

/// Where a function may leave to without a call.
struct JumpsOut {
  std::vector<Address> targets;          ///< of direct jumps to places outside the function
  std::vector<Address> through_pointer;  ///< behind each jump through a register or memory
  bool unread = false;                   ///< it could not be read to its end
  [[nodiscard]] bool indirect() const { return unread || !through_pointer.empty(); }
};

/// Targets of its direct calls, and of its direct jumps to places outside of it, made by the instructions in
/// `range`; what could not be decoded is passed over.
std::vector<Address> calls_out_of(const Module& module, const FunctionSymbol& function, FileRange range);

JumpsOut jumps_out_of(const Module& module, const FunctionSymbol& function);

/// Behind the first jump of the function to that place outside of it.
std::optional<Address> behind_jump_to(const Module& module, const FunctionSymbol& function, Address target);

/// {where it returns to: its target} of each direct call of the function.
std::unordered_map<Address, Address> direct_calls(const Module& module, const FunctionSymbol& function);

/// Target of the direct call that returns to `return_pc`, which lies in the function or right behind it.
/// Nothing when the instruction before it is something else, such as a call through a pointer.
std::optional<Address> direct_call_before(const Module& module, const FunctionSymbol& function,
                                          Address return_pc);

/// Displacement of the slot through which the call or jump right before `behind` goes, as of a virtual
/// function in its table. Nothing when there is none.
std::optional<std::int64_t> slot_before(const Module& module, const FunctionSymbol& function, Address behind);
/// The same of the instruction at `at`.
std::optional<std::int64_t> slot_of(const Module& module, Address at);

}  // namespace refhist
