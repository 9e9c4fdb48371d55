#include "x86/indirect_jumps.h"

#include <fmt/core.h>

#include <algorithm>

#include "x86/decoded_instruction.h"

namespace refhist {
namespace {

bool may_jump_indirectly(const CodeRange& function) {
  // FF /4, at any offset: looks at every byte and decodes nothing.
  for (std::size_t i = 0; i + 1 < function.bytes.size(); ++i) {
    if (function.bytes[i] == 0xff && (function.bytes[i + 1] & 0x38) == 0x20) return true;
  }
  return false;
}

/// By lea, or as an immediate in code that is not position independent, or by call+pop.
bool takes_place_inside(const DecodedInstruction& instruction, const CodeRange& function) {
  const ZydisDecodedOperand& source = instruction.operands[1];
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
      return function.contains(instruction.rip_target().value_or(0));
    case ZYDIS_MNEMONIC_MOV:
      return source.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && function.contains(source.imm.value.u);
    case ZYDIS_MNEMONIC_CALL:
      return instruction.branch_target() == instruction.next();
    default:
      return false;
  }
}

/// Zeros, as linkers put them between the last function of a section and the next section.
bool is_filler(const CodeRange& rest) {
  return std::all_of(rest.bytes.begin(), rest.bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::string unclear_indirect_jump(const CodeRange& function, bool data_known) {
  if (!may_jump_indirectly(function)) return {};
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  Address jump = 0;
  bool computes = !data_known;
  bool ended = false;  // control does not come here from above
  for (Address at = function.address; at < function.end(); at = instruction.next()) {
    const CodeRange rest = function.from(at);
    if (ended && is_filler(rest)) break;
    if (!decoder.decode(function, at, instruction)) {
      return fmt::format("the code at {:#x} cannot be decoded, and there may be an indirect jump", at);
    }
    computes = computes || takes_place_inside(instruction, function);
    const bool by_register = instruction.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
    if (instruction.is_indirect_jump() && (by_register || !data_known)) jump = at;
    if (!instruction.is_padding()) ended = !instruction.falls_through();
  }
  if (jump == 0 || !computes) return {};
  return fmt::format("the indirect jump at {:#x} may go into the patched bytes", jump);
}

}  // namespace refhist
