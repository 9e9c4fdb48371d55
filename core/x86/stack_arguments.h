// Whether a function looks at arguments on the stack.
//
// Calling a function through with one more return address on the stack moves its stack arguments out of the
// place where it looks for them. So that is done only for functions that are seen not to look.
#pragma once

#include <functional>

#include "x86/code_range.h"

namespace refhist {

enum class StackArguments {
  no,  ///< all of its code was followed, and nothing at or above entry rsp + 8 is read, written or pointed at
  yes,      ///< seen to
  unknown,  ///< it could not be followed: jumps to unknown code, computes rsp, is too long
};

/// What else the code of a function may lead to. Each may be missing; then what needs it is unknown.
struct CodeAround {
  /// Code from the address to the next start of a function; empty bytes when there is none.
  std::function<CodeRange(Address)> code_at;
  /// Data from the address on, for jump tables.
  std::function<CodeRange(Address)> data_at;
  /// What is known of the function whose address the dynamic linker puts into the slot; what
  /// the slot holds before that (lazy binding) tells nothing.
  std::function<StackArguments(Address slot)> imported;
};

/// A jump to a function with a variable argument list counts as `yes`: that function takes the address of its
/// stack arguments, whether or not it was given any.
///
/// `function.bytes` ends where the function ends. Its .cold parts and the functions to which it jumps with
/// its own frame given up are followed; calls are not, since a callee's stack arguments are the caller's
/// business.
StackArguments reads_stack_arguments(const CodeRange& function, const CodeAround& around);

}  // namespace refhist
