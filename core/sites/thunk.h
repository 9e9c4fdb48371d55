// Functions that the compiler puts into virtual tables of other bases: they move `this` and go on in the real
// function, or have a copy of its body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "symbols/module.h"

namespace refhist {

struct Thunk {
  /// Bytes from what the caller passes to what the function works on; nothing when only the object's virtual
  /// table tells.
  std::optional<std::int64_t> adjust;
  bool goes_on = false;  ///< in the real function: a call is seen there
};

/// Nothing when the function is no thunk.
std::optional<Thunk> read_thunk(const Module& module, const FunctionSymbol& function);

/// By their mangled names.
bool is_thunk_of(std::string_view thunk, std::string_view function);

}  // namespace refhist
