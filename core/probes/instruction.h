// One instruction of a module's code, read from its file.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <optional>

#include "symbols/module.h"

namespace refhist {

struct Instruction {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  Address address = 0;

  [[nodiscard]] Address next() const { return address + decoded.length; }
  [[nodiscard]] bool is_call() const { return decoded.meta.category == ZYDIS_CATEGORY_CALL; }
  [[nodiscard]] bool is_jump() const { return decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR; }
  [[nodiscard]] bool is_branch() const { return decoded.meta.category == ZYDIS_CATEGORY_COND_BR; }
  /// Of a relative call, jump or branch: where it goes.
  [[nodiscard]] std::optional<Address> direct_target() const;
  /// Of a call or jump through memory that lies at a fixed distance: where that is.
  [[nodiscard]] std::optional<Address> slot() const;
};

/// False when no whole instruction stands at the address.
bool read_instruction(const Module& module, Address address, Instruction& out);

/// The GOT slot through which a PLT stub at the address jumps; nothing when no stub stands there.
std::optional<Address> stub_slot(const Module& module, Address address);

}  // namespace refhist
