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

struct Registers {
  std::array<Address, kRegisterCount> value{};
  [[nodiscard]] Address operator[](unsigned r) const { return value[r]; }
  Address& operator[](unsigned r) { return value[r]; }
  [[nodiscard]] Address pc() const { return value[kRip]; }
  [[nodiscard]] Address sp() const { return value[kRsp]; }
};

}  // namespace refhist
