#include "patching/movable.h"

#include <fmt/core.h>

#include <string_view>

namespace refhist {
namespace {

std::string_view name(const DecodedInstruction& instruction) {
  return ZydisMnemonicGetString(instruction.raw.mnemonic);
}

/// Instructions that mean their own place in a way that cannot be expressed elsewhere.
bool bound_to_its_place(const DecodedInstruction& instruction) {
  if (instruction.raw.meta.category == ZYDIS_CATEGORY_INTERRUPT) return true;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_RSM:
      return true;
    default:
      return instruction.raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  }
}

std::string why_not_branch(const DecodedInstruction& instruction, Address target, const Covered& covered) {
  const bool wide = (instruction.raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) == 0 ||
                    (instruction.raw.attributes & ZYDIS_ATTRIB_HAS_REX) != 0;
  if (!wide) return fmt::format("{} with an operand-size prefix cannot be moved", name(instruction));
  if (!instruction.is_call()) {
    if (covered.first == covered.function || target <= covered.function || target > covered.first) return {};
    return fmt::format("a branch at {:#x} goes back to {:#x}", instruction.address, target);
  }
  // A call into its own function wants its return address: call+pop, or it jumps over data.
  if (covered.strictly_inside(target) || (target > covered.function && target < covered.function_end)) {
    return fmt::format("the call at {:#x} is used only for its return address", instruction.address);
  }
  return {};
}

}  // namespace

std::string why_not_movable(const DecodedInstruction& instruction, const Covered& covered) {
  if (bound_to_its_place(instruction)) return fmt::format("{} cannot be moved", name(instruction));
  if (const auto target = instruction.branch_target()) return why_not_branch(instruction, *target, covered);
  const auto target = instruction.rip_target();
  if (!target) return {};
  if (instruction.raw.address_width != 64) return "a 32-bit rip-relative operand cannot be moved";
  if (covered.strictly_inside(*target)) {
    return fmt::format("the instruction at {:#x} refers to the patched bytes", instruction.address);
  }
  return {};
}

}  // namespace refhist
