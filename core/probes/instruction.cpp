#include "probes/instruction.h"

namespace refhist {

namespace {

ZydisDecoder make_decoder() {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return decoder;
}

}  // namespace

std::optional<Address> Instruction::direct_target() const {
  if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || operands[0].imm.is_relative == 0)
    return std::nullopt;
  return next() + static_cast<Address>(operands[0].imm.value.s);
}

std::optional<Address> Instruction::slot() const {
  if (operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY || operands[0].mem.base != ZYDIS_REGISTER_RIP)
    return std::nullopt;
  return next() + static_cast<Address>(operands[0].mem.disp.value);
}

bool read_instruction(const Module& module, Address address, Instruction& out) {
  static const ZydisDecoder kDecoder = make_decoder();
  std::array<std::uint8_t, ZYDIS_MAX_INSTRUCTION_LENGTH> bytes{};
  std::size_t size = bytes.size();
  while (size > 0 && !module.read_code(address, bytes.data(), size)) --size;
  out.address = address;
  return size > 0 && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&kDecoder, bytes.data(), size, &out.decoded,
                                                         out.operands.data()));
}

std::optional<Address> stub_slot(const Module& module, Address address) {
  Instruction instruction;
  for (int i = 0; i < 2 && read_instruction(module, address, instruction); ++i) {
    if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_JMP) return instruction.slot();
    if (instruction.decoded.mnemonic != ZYDIS_MNEMONIC_ENDBR64) return std::nullopt;
    address = instruction.next();
  }
  return std::nullopt;
}

}  // namespace refhist
