#include "x86/decoded_instruction.h"

#include "port/registers.h"

namespace refhist {

bool DecodedInstruction::compares_with_zero() const {
  if (raw.mnemonic == ZYDIS_MNEMONIC_CMP) return is_immediate(operands[1]) && operands[1].imm.value.u == 0;
  return raw.mnemonic == ZYDIS_MNEMONIC_TEST && is_register(operands[0]) && is_register(operands[1]) &&
         operands[0].reg.value == operands[1].reg.value;
}

std::optional<Address> DecodedInstruction::branch_target() const {
  const ZydisDecodedOperand& operand = operands[0];
  if (raw.operand_count == 0 || operand.type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
      operand.imm.is_relative == 0) {
    return std::nullopt;
  }
  return next() + static_cast<Address>(operand.imm.value.s);
}

std::optional<Address> DecodedInstruction::rip_target() const {
  for (unsigned i = 0; i < raw.operand_count; ++i) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    const ZydisRegister base = operands[i].mem.base;
    if (base == ZYDIS_REGISTER_RIP || base == ZYDIS_REGISTER_EIP) {
      return next() + static_cast<Address>(operands[i].mem.disp.value);
    }
  }
  return std::nullopt;
}

bool DecodedInstruction::is_indirect_jump() const {
  return is_jump() && operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

bool DecodedInstruction::falls_through() const {
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_UNCOND_BR:
      return false;
    default:
      return raw.mnemonic != ZYDIS_MNEMONIC_UD2 && raw.mnemonic != ZYDIS_MNEMONIC_HLT &&
             raw.mnemonic != ZYDIS_MNEMONIC_INT3;
  }
}

bool DecodedInstruction::is_padding() const {
  return raw.mnemonic == ZYDIS_MNEMONIC_NOP || raw.mnemonic == ZYDIS_MNEMONIC_INT3 ||
         (raw.mnemonic == ZYDIS_MNEMONIC_XCHG && operands[0].reg.value == ZYDIS_REGISTER_AX &&
          operands[1].reg.value == ZYDIS_REGISTER_AX);
}

InstructionDecoder::InstructionDecoder() {
  ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool InstructionDecoder::decode(const CodeRange& range, Address at, DecodedInstruction& out) const {
  const CodeRange rest = range.from(at);
  out.address = at;
  return !rest.bytes.empty() &&
         ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, rest.bytes.data(), rest.bytes.size(), &out.raw,
                                             out.operands.data()));
}

unsigned InstructionDecoder::length(const CodeRange& range, Address at) const {
  const CodeRange rest = range.from(at);
  ZydisDecodedInstruction raw;
  const bool good =
      !rest.bytes.empty() && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, rest.bytes.data(),
                                                                        rest.bytes.size(), &raw));
  return good ? raw.length : 0;
}

bool is_register(const ZydisDecodedOperand& operand, ZydisRegister reg) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
}

ZydisRegister whole_register(ZydisRegister reg) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

std::optional<unsigned> dwarf_number(ZydisRegister name) {
  // As instructions number them: rax rcx rdx rbx rsp rbp rsi rdi r8...
  static constexpr std::array<unsigned, 16> kNumbers{kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi,
                                                     kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};
  const ZydisRegister whole = whole_register(name);
  const bool general = whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15;
  const bool high_byte = name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH;
  if (!general || high_byte) return std::nullopt;
  return kNumbers[static_cast<std::size_t>(whole - ZYDIS_REGISTER_RAX)];
}

std::optional<unsigned> preserved_number(ZydisRegister reg) {
  const auto number = dwarf_number(reg);
  return number && is_preserved(*number) ? number : std::nullopt;
}

}  // namespace refhist
