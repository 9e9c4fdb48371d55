// Evaluates the DWARF expressions of call frame information: those of PLT stubs, signal trampolines and
// realigned stacks. Values are 64 bits; location, object and control-transfer-by-DIE operations have no place
// here.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "port/registers.h"

namespace refhist {

/// Reads 1 to 8 bytes, zero-extended; nothing when unreadable.
using WordReader = std::function<std::optional<std::uint64_t>(Address address, std::size_t size)>;

/// The value on top of the stack at the end. `cfa`, when given, is on the stack at the beginning. Nothing
/// when the expression is malformed, uses an unknown operation, runs too long, or memory is unreadable.
std::optional<std::uint64_t> evaluate_expression(std::span<const std::uint8_t> expression,
                                                 const Registers& registers, std::optional<Address> cfa,
                                                 const WordReader& read);

}  // namespace refhist
