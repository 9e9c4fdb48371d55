// What a function that builds a frame (-O0) does until it has stored its arguments there.
#pragma once

#include <optional>
#include <vector>

#include "port/registers.h"
#include "x86/code_range.h"

namespace refhist {

/// What a thread is like behind it.
struct PrologueEnd {
  struct Store {
    Address at = 0;
    Address value = 0;
    unsigned size = 0;  ///< bytes
  };
  Registers registers;
  std::vector<Store> stores;  ///< in this order
};

/// Of a thread with these registers at the function's entry. It goes no further than `end`, and ends before
/// an instruction that does more than that: one that sets flags, calls, or stores a vector register. Nothing
/// when the function builds no frame.
std::optional<PrologueEnd> run_prologue(const CodeRange& function, Address end, const Registers& registers);

}  // namespace refhist
