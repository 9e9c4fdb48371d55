#include "x86/instruction.h"

#include <array>

namespace refhist {

bool read_instruction(const Module& module, Address address, DecodedInstruction& out) {
  static const InstructionDecoder kDecoder;
  std::array<std::uint8_t, ZYDIS_MAX_INSTRUCTION_LENGTH> bytes{};
  std::size_t size = bytes.size();
  while (size > 0 && !module.read_code(address, bytes.data(), size)) --size;
  return kDecoder.decode({address, std::span(bytes).first(size)}, address, out);
}

std::optional<Address> stub_slot(const Module& module, Address address) {
  DecodedInstruction instruction;
  for (int i = 0; i < 2 && read_instruction(module, address, instruction); ++i) {
    if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_JMP) return instruction.rip_target();
    if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_ENDBR64) return std::nullopt;
    address = instruction.next();
  }
  return std::nullopt;
}

}  // namespace refhist
