// The general registers of one thread, numbered as DWARF numbers them on x86-64.
#pragma once

#include <array>

#include "base/types.h"

namespace refhist {

enum Register : unsigned {
  kRax,
  kRdx,
  kRcx,
  kRbx,
  kRsi,
  kRdi,
  kRbp,
  kRsp,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kRip,
  kRegisterCount
};

/// Of a call's integer and pointer arguments, the first one first (System V ABI).
inline constexpr std::array<unsigned, 6> kArgumentRegisters{kRdi, kRsi, kRdx, kRcx, kR8, kR9};

struct Registers {
  std::array<Address, kRegisterCount> value{};
  [[nodiscard]] Address operator[](unsigned r) const { return value[r]; }
  Address& operator[](unsigned r) { return value[r]; }
  /// Where a function is entered: of its first to sixth argument, from 1.
  [[nodiscard]] Address argument(unsigned number) const { return value[kArgumentRegisters[number - 1]]; }
  [[nodiscard]] Address pc() const { return value[kRip]; }
  [[nodiscard]] Address sp() const { return value[kRsp]; }
};

}  // namespace refhist
