#include "patching/indirect_jumps.h"

#include <fmt/core.h>

#include <array>
#include <vector>

#include "patching/decoded_instruction.h"

namespace refhist {
namespace {

constexpr std::size_t kLookBack = 24;  // instructions before the jump; compilers put the load within five

bool may_jump_indirectly(const CodeRange& function) {
  // FF /4, at any offset: looks at every byte and decodes nothing.
  for (std::size_t i = 0; i + 1 < function.bytes.size(); ++i) {
    if (function.bytes[i] == 0xff && (function.bytes[i + 1] & 0x38) == 0x20) return true;
  }
  return false;
}

ZydisRegister whole(ZydisRegister reg) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

bool writes(const DecodedInstruction& instruction, ZydisRegister reg) {
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (written && operand.type == ZYDIS_OPERAND_TYPE_REGISTER && whole(operand.reg.value) == reg)
      return true;
  }
  return false;
}

bool is_register(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_REGISTER; }
bool is_memory(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_MEMORY; }

/// The last instructions before a jump, oldest first.
class Backwards {
 public:
  explicit Backwards(const std::vector<DecodedInstruction>& before) : before_(before) {}

  /// True when the register can only hold a pointer that something else shows.
  [[nodiscard]] bool clear(ZydisRegister reg) const {
    std::size_t end = before_.size();
    for (;;) {
      const std::size_t i = last_writer(reg, end);
      if (i == end) return false;
      const DecodedInstruction& writer = before_[i];
      switch (writer.raw.mnemonic) {
        case ZYDIS_MNEMONIC_LEA:
          return writer.rip_target().has_value();
        case ZYDIS_MNEMONIC_POP:
          return true;
        case ZYDIS_MNEMONIC_ADD:
          return is_register(writer.operands[1]) &&
                 (loads_table_entry(reg, i) || loads_table_entry(writer.operands[1].reg.value, i));
        case ZYDIS_MNEMONIC_MOV:
          if (writer.raw.operand_width != 64) return false;
          if (is_memory(writer.operands[1])) return true;
          if (!is_register(writer.operands[1])) return false;
          reg = writer.operands[1].reg.value;
          end = i;
          break;
        default:
          return false;
      }
    }
  }

 private:
  /// `end` when there is none.
  [[nodiscard]] std::size_t last_writer(ZydisRegister reg, std::size_t end) const {
    for (std::size_t i = end; i-- > 0;) {
      if (writes(before_[i], reg)) return i;
    }
    return end;
  }

  [[nodiscard]] bool loads_table_entry(ZydisRegister reg, std::size_t end) const {
    const std::size_t i = last_writer(reg, end);
    return i != end && before_[i].raw.mnemonic == ZYDIS_MNEMONIC_MOVSXD && is_memory(before_[i].operands[1]);
  }

  const std::vector<DecodedInstruction>& before_;
};

bool clear(const DecodedInstruction& jump, const std::vector<DecodedInstruction>& before) {
  const ZydisDecodedOperand& operand = jump.operands[0];
  if (is_memory(operand)) return true;
  return is_register(operand) && Backwards(before).clear(operand.reg.value);
}

}  // namespace

std::string unclear_indirect_jump(const CodeRange& function, bool data_known) {
  if (!may_jump_indirectly(function)) return {};
  const InstructionDecoder decoder;
  std::vector<DecodedInstruction> before;
  DecodedInstruction instruction;
  for (Address at = function.address; at < function.end(); at = instruction.next()) {
    if (!decoder.decode(function, at, instruction)) {
      return fmt::format("the code at {:#x} cannot be decoded, and there may be an indirect jump", at);
    }
    if (instruction.is_indirect_jump() && !(data_known && clear(instruction, before))) {
      return fmt::format("the indirect jump at {:#x} may go into the covered bytes", at);
    }
    if (before.size() == kLookBack) before.erase(before.begin());
    before.push_back(instruction);
  }
  return {};
}

}  // namespace refhist
