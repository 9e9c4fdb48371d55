// One x86-64 instruction with what patching and the walks over code ask of it.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <optional>

#include "port/registers.h"
#include "x86/code_range.h"

namespace refhist {

struct DecodedInstruction {
  ZydisDecodedInstruction raw;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  Address address = 0;

  [[nodiscard]] Address next() const { return address + raw.length; }
  /// Where a direct jmp, jcc, call, loop, jrcxz goes, or an aborted xbegin.
  [[nodiscard]] std::optional<Address> branch_target() const;
  /// The address that a rip-relative operand means.
  [[nodiscard]] std::optional<Address> rip_target() const;
  [[nodiscard]] bool is_call() const { return raw.meta.category == ZYDIS_CATEGORY_CALL; }
  [[nodiscard]] bool is_jump() const { return raw.meta.category == ZYDIS_CATEGORY_UNCOND_BR; }
  [[nodiscard]] bool is_branch() const { return raw.meta.category == ZYDIS_CATEGORY_COND_BR; }
  [[nodiscard]] bool is_return() const { return raw.meta.category == ZYDIS_CATEGORY_RET; }
  /// What a call or jump enters: its target, or for one through a slot the slot's own address.
  [[nodiscard]] std::optional<Address> entered() const {
    const auto target = branch_target();
    return target ? target : rip_target();
  }
  /// `test r, r` or `cmp …, 0`.
  [[nodiscard]] bool compares_with_zero() const;
  /// jmp or call through a register or memory.
  [[nodiscard]] bool is_indirect_jump() const;
  /// Control can go on at next().
  [[nodiscard]] bool falls_through() const;
  /// nop of any length, int3: what stands between functions.
  [[nodiscard]] bool is_padding() const;
};

/// Numbers of registers as instructions encode them.
constexpr unsigned kEncodedRsp = 4;
constexpr unsigned kEncodedRbp = 5;
/// Of the arguments: rdi, rsi, rdx, rcx, r8, r9.
constexpr std::array<unsigned, 6> kEncodedArguments{7, 6, 2, 1, 8, 9};

inline bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER;
}
bool is_register(const ZydisDecodedOperand& operand, ZydisRegister reg);
inline bool is_immediate(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}
/// The register that this is the lower part of, or itself.
ZydisRegister whole_register(ZydisRegister reg);
/// DWARF's number of a general register, or of the one that this is the lower part of; nothing for others.
std::optional<unsigned> dwarf_number(ZydisRegister name);

/// A function gives back the register (DWARF's number) as it was.
constexpr bool is_preserved(unsigned reg) {
  return reg == kRbx || reg == kRbp || (reg >= kR12 && reg <= kR15);
}
/// The same of registers that a function gives back as they were; nothing for others.
std::optional<unsigned> preserved_number(ZydisRegister name);

class InstructionDecoder {
 public:
  InstructionDecoder();
  /// False when the bytes from `at` to the end of the range begin with no whole instruction.
  bool decode(const CodeRange& range, Address at, DecodedInstruction& out) const;
  /// Length only, a third of the time; 0 when there is no instruction.
  [[nodiscard]] unsigned length(const CodeRange& range, Address at) const;

 private:
  ZydisDecoder decoder_{};
};

}  // namespace refhist
