#pragma once

#include <optional>

#include "port/registers.h"

namespace refhist {

/// Straight from the kernel, of a thread that the calling thread traces and that is held, whether the
/// debugger knows that yet or not. Else nothing.
[[nodiscard]] std::optional<Registers> traced_registers(long tid);

}  // namespace refhist
