#include "x86/value_trail.h"

#include "x86/counter_instruction.h"

namespace refhist {

/// Of what the instruction puts into its first operand.
std::optional<std::int64_t> ValueTrail::put_by(const DecodedInstruction& instruction) const {
  const auto& operands = instruction.operands;
  const auto from = [&](ZydisRegister name, std::int64_t more) -> std::optional<std::int64_t> {
    const std::uint8_t reg = CounterInstruction::register_number(name);
    const bool known = reg != CounterInstruction::kNoRegister && above_[reg];
    return known ? std::optional(*above_[reg] + more) : std::nullopt;
  };
  const bool by_number = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (instruction.raw.operand_width != 64) return std::nullopt;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? from(operands[1].reg.value, 0) : std::nullopt;
    case ZYDIS_MNEMONIC_LEA:
      return operands[1].mem.index == ZYDIS_REGISTER_NONE
                 ? from(operands[1].mem.base, operands[1].mem.disp.value)
                 : std::nullopt;
    case ZYDIS_MNEMONIC_ADD:
      return by_number ? from(operands[0].reg.value, operands[1].imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_SUB:
      return by_number ? from(operands[0].reg.value, -operands[1].imm.value.s) : std::nullopt;
    default:
      return std::nullopt;
  }
}

void ValueTrail::follow(const DecodedInstruction& instruction) {
  const ZydisDecodedOperand& first = instruction.operands[0];
  const std::uint8_t target = first.type == ZYDIS_OPERAND_TYPE_REGISTER
                                  ? CounterInstruction::register_number(first.reg.value)
                                  : CounterInstruction::kNoRegister;
  const auto put = target == CounterInstruction::kNoRegister ? std::nullopt : put_by(instruction);
  if (instruction.is_call()) {
    for (const unsigned reg : {kRax, kRcx, kRdx, kRsi, kRdi, kR8, kR9, kR10, kR11}) above_[reg].reset();
  }
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!written || operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const std::uint8_t reg = CounterInstruction::register_number(operand.reg.value);
    if (reg != CounterInstruction::kNoRegister) above_[reg].reset();
  }
  if (put) above_[target] = put;
}

}  // namespace refhist
