#include "patching/patch.h"

#include <fmt/core.h>

#include <algorithm>

#include "patching/decoded_instruction.h"
#include "patching/indirect_jumps.h"
#include "patching/movable.h"
#include "patching/relocator.h"

namespace refhist {
namespace {

constexpr Address kFunctionAlignment = 16;

/// Plans one patch. Places are tried from the entry on.
class Planner {
 public:
  Planner(const PatchRequest& request, const BranchTargets& targets)
      : request_(request), targets_(targets), code_{request.function.address, joined()} {}

  PatchResult plan();

 private:
  /// The function's first bytes, and what follows when it is short: the code that a patch can cover.
  std::span<const std::uint8_t> joined();
  [[nodiscard]] Address end() const { return request_.function.end(); }
  /// Covers whole instructions from `at` on; empty when that is possible.
  std::string cover(Address at);
  std::string cover_padding(Address from, Address at, Address& last) const;
  /// Empty when the instruction can be left in place before the patch; then sp_delta counts it.
  std::string skip(const DecodedInstruction& instruction);
  [[nodiscard]] bool kept_inside() const;
  std::string why_not_safe(const std::vector<DecodedInstruction>& covered) const;

  const PatchRequest& request_;
  const BranchTargets& targets_;
  std::vector<std::uint8_t> storage_;
  CodeRange code_;
  InstructionDecoder decoder_;
  Patch patch_;
};

std::span<const std::uint8_t> Planner::joined() {
  constexpr std::size_t kEnough = 128;
  const auto& bytes = request_.function.bytes;
  if (bytes.size() >= kEnough) return bytes.first(kEnough);
  storage_.assign(bytes.begin(), bytes.end());
  const auto after = request_.after.first(std::min(request_.after.size(), kEnough));
  storage_.insert(storage_.end(), after.begin(), after.end());
  return storage_;
}

PatchResult Planner::plan() {
  patch_.function = request_.function.address;
  Address at = patch_.function;
  DecodedInstruction instruction;
  if (decoder_.decode(request_.function, at, instruction) &&
      instruction.raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64) {
    at = instruction.next();
  }
  std::string kept;
  for (;;) {
    std::string reason = cover(at);
    if (!reason.empty()) return {std::nullopt, kept.empty() ? reason : kept + "; behind it: " + reason};
    if (!kept_inside()) return {std::move(patch_), {}};
    if (kept.empty()) kept = "a breakpoint stands in the bytes of the jump";
    if (!decoder_.decode(request_.function, at, instruction)) return {std::nullopt, kept};
    reason = skip(instruction);
    if (!reason.empty()) return {std::nullopt, kept + "; " + reason};
    at = instruction.next();
  }
}

bool Planner::kept_inside() const {
  return std::any_of(request_.keep.begin(), request_.keep.end(),
                     [&](Address keep) { return keep - patch_.at < patch_.length; });
}

std::string Planner::cover(Address at) {
  std::vector<DecodedInstruction> covered;
  Address last = at;
  patch_.at = at;
  patch_.falls_through = true;
  while (last - at < kJumpSize && patch_.falls_through) {
    DecodedInstruction& instruction = covered.emplace_back();
    if (last >= end()) return "too short";
    if (!decoder_.decode(request_.function, last, instruction)) {
      return fmt::format("unknown instruction at {:#x}", last);
    }
    patch_.falls_through = instruction.falls_through();
    last = instruction.next();
  }
  std::string reason = cover_padding(last, at, last);
  if (!reason.empty()) return reason;
  patch_.length = static_cast<unsigned>(last - at);
  const auto bytes = code_.from(at).bytes.first(patch_.length);
  patch_.original.assign(bytes.begin(), bytes.end());
  return why_not_safe(covered);
}

std::string Planner::cover_padding(Address from, Address at, Address& last) const {
  // Up to the next alignment of functions only: behind it, a nop may be the first instruction of a function
  // that has no symbol.
  const Address limit = (from + kFunctionAlignment - 1) & ~(kFunctionAlignment - 1);
  DecodedInstruction instruction;
  while (last - at < kJumpSize) {
    if (last >= code_.end() || last >= limit) return "too short";
    if (!decoder_.decode(code_, last, instruction) || !instruction.is_padding()) {
      return "too short, and no padding follows";
    }
    last = instruction.next();
  }
  return {};
}

std::string Planner::why_not_safe(const std::vector<DecodedInstruction>& covered) const {
  const Covered where{patch_.function, end(), patch_.at, patch_.at + patch_.length};
  for (const DecodedInstruction& instruction : covered) {
    std::string reason = why_not_movable(instruction, where);
    if (!reason.empty()) return reason;
    if (instruction.is_call() && instruction.address != covered.back().address) {
      return "a call in the covered bytes returns into them";
    }
  }
  const CodeRange own{patch_.at, patch_.original};
  std::string reason = targets_.why_not_covered(patch_.function + 1, where.last, own);
  const bool one = covered.size() == 1 && patch_.at == patch_.function;
  if (!reason.empty() || one) return reason;
  return unclear_indirect_jump(request_.function, targets_.knows_data());
}

bool is_register(const ZydisDecodedOperand& operand, ZydisRegister reg) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
}

/// Registers that carry nothing of a call's arguments and that the callee preserves.
bool is_preserved(ZydisRegister reg) {
  switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
    case ZYDIS_REGISTER_RBX:
    case ZYDIS_REGISTER_RBP:
    case ZYDIS_REGISTER_R12:
    case ZYDIS_REGISTER_R13:
    case ZYDIS_REGISTER_R14:
    case ZYDIS_REGISTER_R15:
      return true;
    default:
      return false;
  }
}

/// rsp into the frame pointer, an argument into a register that outlives calls, a test of an argument.
bool changes_only_preserved(const DecodedInstruction& instruction) {
  for (unsigned i = 0; i < instruction.raw.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool memory =
        operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (memory || (written && !is_preserved(operand.reg.value))) return false;
  }
  return true;
}

std::string Planner::skip(const DecodedInstruction& instruction) {
  const auto& operands = instruction.operands;
  bool harmless = false;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_NOP:
      return {};
    case ZYDIS_MNEMONIC_PUSH:
      harmless = instruction.raw.operand_width == 64 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
      if (harmless) patch_.sp_delta += 8;
      break;
    case ZYDIS_MNEMONIC_SUB:
      harmless = is_register(operands[0], ZYDIS_REGISTER_RSP) &&
                 operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[1].imm.value.s >= 0;
      if (harmless) patch_.sp_delta += static_cast<std::int32_t>(operands[1].imm.value.s);
      break;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_CMP:
      harmless = changes_only_preserved(instruction);
      break;
    default:
      break;
  }
  patch_.red_zone_live = true;
  if (harmless) return {};
  return fmt::format("{} at {:#x} cannot run before the probe",
                     ZydisMnemonicGetString(instruction.raw.mnemonic), instruction.address);
}

}  // namespace

PatchResult plan_patch(const PatchRequest& request, const BranchTargets& targets) {
  if (request.function.bytes.empty()) return {std::nullopt, "no code is known at the address"};
  return Planner(request, targets).plan();
}

}  // namespace refhist
