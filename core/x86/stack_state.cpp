#include "x86/stack_state.h"

namespace refhist {
namespace {

using Kind = StackPointer::Kind;

/// 0 to 15 for a whole general register, otherwise -1.
int whole_number(ZydisRegister reg) {
  return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(reg) : -1;
}

bool survives_call(unsigned reg) { return reg == 3 || reg == kEncodedRsp || reg == kEncodedRbp || reg >= 12; }

}  // namespace

StackPointer& StackState::reg(ZydisRegister which) {
  const int at = whole_number(which);
  if (at >= 0) return registers_[static_cast<std::size_t>(at)];
  return elsewhere_ = {};
}

StackPointer StackState::address_of(const ZydisDecodedOperand& operand) const {
  if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS) return {};
  const int base = whole_number(operand.mem.base);
  const int index = whole_number(operand.mem.index);
  StackPointer pointer;
  if (base >= 0) pointer = registers_[static_cast<std::size_t>(base)];
  if (pointer.kind == Kind::none && index >= 0 && operand.mem.scale == 1) {
    pointer = registers_[static_cast<std::size_t>(index)];
  }
  if (pointer.kind != Kind::none) pointer.offset += static_cast<std::int32_t>(operand.mem.disp.value);
  return pointer;
}

void StackState::execute(const DecodedInstruction& instruction) {
  const int width = instruction.raw.operand_width / 8;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
      return move_rsp(-width);
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
      move_rsp(width);
      if (is_register(instruction.operands[0])) reg(instruction.operands[0].reg.value) = {};
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      return leave();
    case ZYDIS_MNEMONIC_ADD:
      return add(instruction, 1);
    case ZYDIS_MNEMONIC_SUB:
      return add(instruction, -1);
    case ZYDIS_MNEMONIC_AND:
      // Aligns: what was a frame's address is one below.
      if (is_register(instruction.operands[0]) && is_immediate(instruction.operands[1])) {
        StackPointer& changed = reg(instruction.operands[0].reg.value);
        if (changed.kind != Kind::none) changed.kind = Kind::at_most;
        if (changed.kind != Kind::none) return;
      }
      return forget_written(instruction);
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_LEA:
      return assign(instruction);
    default:
      return forget_written(instruction);
  }
}

void StackState::leave() {
  registers_[kEncodedRsp] = registers_[kEncodedRbp];
  move_rsp(8);
  registers_[kEncodedRbp] = {};
}

void StackState::add(const DecodedInstruction& instruction, int sign) {
  const auto& operands = instruction.operands;
  if (!is_register(operands[0])) return;
  StackPointer& changed = reg(operands[0].reg.value);
  if (changed.kind != Kind::none && is_immediate(operands[1])) {
    changed.offset += sign * static_cast<std::int32_t>(operands[1].imm.value.s);
  } else if (changed.kind != Kind::none && sign < 0 && &changed == &registers_[kEncodedRsp]) {
    changed.kind = Kind::at_most;  // room for an array of variable length
  } else {
    forget_written(instruction);
  }
}

void StackState::assign(const DecodedInstruction& instruction) {
  const auto& operands = instruction.operands;
  if (!is_register(operands[0])) return;
  StackPointer value;
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_LEA) {
    value = address_of(operands[1]);
    const bool computed =
        operands[1].mem.base != ZYDIS_REGISTER_NONE && operands[1].mem.index != ZYDIS_REGISTER_NONE;
    if (computed || instruction.raw.operand_width != 64) value = {};
  } else if (is_register(operands[1])) {
    value = reg(operands[1].reg.value);
  }
  forget_written(instruction);
  reg(operands[0].reg.value) = value;
}

void StackState::forget_written(const DecodedInstruction& instruction) {
  if (instruction.is_call()) {
    for (int i = 0; i < 16; ++i) {
      if (!survives_call(i)) registers_[static_cast<std::size_t>(i)] = {};
    }
    return;
  }
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0 || !is_register(operand)) continue;
    reg(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value)) = {};
  }
}

bool StackState::meet(const StackState& other) {
  bool lost = false;
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    if (registers_[i].kind == Kind::none || registers_[i] == other.registers_[i]) continue;
    registers_[i] = {};
    lost = true;
  }
  return lost;
}

}  // namespace refhist
