#include "x86/memory_copy.h"

#include <algorithm>
#include <array>

namespace refhist {

namespace {

bool moves_vector(const DecodedInstruction& instruction) {
  static constexpr std::array<ZydisMnemonic, 8> kMoves{
      ZYDIS_MNEMONIC_MOVUPS,  ZYDIS_MNEMONIC_MOVAPS,  ZYDIS_MNEMONIC_MOVDQU,  ZYDIS_MNEMONIC_MOVDQA,
      ZYDIS_MNEMONIC_VMOVUPS, ZYDIS_MNEMONIC_VMOVAPS, ZYDIS_MNEMONIC_VMOVDQU, ZYDIS_MNEMONIC_VMOVDQA};
  return std::find(kMoves.begin(), kMoves.end(), instruction.raw.mnemonic) != kMoves.end();
}

}  // namespace

std::optional<unsigned> vector_number(ZydisRegister name) {
  const ZydisRegisterClass kind = ZydisRegisterGetClass(name);
  const bool vector = kind == ZYDIS_REGCLASS_XMM || kind == ZYDIS_REGCLASS_YMM || kind == ZYDIS_REGCLASS_ZMM;
  return vector ? std::optional(static_cast<unsigned>(ZydisRegisterGetId(name))) : std::nullopt;
}

std::optional<unsigned> vector_number(const ZydisDecodedOperand& operand) {
  return is_register(operand) ? vector_number(operand.reg.value) : std::nullopt;
}

bool loads_vector(const DecodedInstruction& instruction) {
  return moves_vector(instruction) && instruction.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

std::int64_t stored_words(const DecodedInstruction& instruction) {
  const ZydisDecodedOperand& to = instruction.operands[0];
  return moves_vector(instruction) && to.type == ZYDIS_OPERAND_TYPE_MEMORY ? to.size / 64 : 0;
}

bool copies_block(const DecodedInstruction& instruction) {
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  const bool moves =
      mnemonic == ZYDIS_MNEMONIC_MOVSQ || mnemonic == ZYDIS_MNEMONIC_MOVSB ||
      (mnemonic == ZYDIS_MNEMONIC_MOVSD && instruction.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
       instruction.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY);
  return moves && (instruction.raw.attributes & ZYDIS_ATTRIB_HAS_REP) != 0;
}

}  // namespace refhist
