#include "patching/patch.h"

#include <fmt/core.h>

#include <algorithm>

#include "patching/movable.h"
#include "patching/relocator.h"
#include "port/registers.h"
#include "x86/decoded_instruction.h"
#include "x86/indirect_jumps.h"

namespace refhist {
namespace {

constexpr Address kFunctionAlignment = 16;

/// Plans one patch. Places are tried from the entry on.
class Planner {
 public:
  /// `prefix`: bytes from the beginning of the request's code to the probed instruction.
  Planner(const PatchRequest& request, const BranchTargets& targets, unsigned prefix = 0)
      : request_(request), targets_(targets), code_{request.function.address, joined()} {
    patch_.prefix = prefix;
  }

  PatchResult plan();

 private:
  /// The function's first bytes, and what follows when it is short: the code that a patch can cover.
  std::span<const std::uint8_t> joined();
  [[nodiscard]] Address end() const { return request_.function.end(); }
  /// Covers whole instructions from `at` on; empty when that is possible.
  std::string cover(Address at);
  /// Can the jump stand there, with what has run from `begin` on taken back?
  bool cover_behind(Address begin, Address at);
  bool cover_behind_start(Address begin);
  [[nodiscard]] bool stops_inside() const;
  std::string cover_padding(Address from, Address at, Address& last) const;
  /// Empty when the instruction can be left in place before the patch; then sp_delta counts it.
  std::string skip(const DecodedInstruction& instruction);
  [[nodiscard]] bool is_pushed(ZydisRegister reg) const;
  [[nodiscard]] bool changes_only_pushed(const DecodedInstruction& instruction) const;
  [[nodiscard]] bool stores_in_frame(const DecodedInstruction& instruction) const;
  [[nodiscard]] std::string kept_inside() const;
  std::string why_not_safe(const std::vector<DecodedInstruction>& covered) const;

  const PatchRequest& request_;
  const BranchTargets& targets_;
  std::vector<std::uint8_t> storage_;
  CodeRange code_;
  InstructionDecoder decoder_;
  Patch patch_;
  bool behind_start_ = false;  // what has run before `at` is taken back
  bool has_frame_ = false;     // rbp points at where the caller's rbp was pushed
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
  if (request_.inside) {
    patch_.sp_delta = request_.inside->sp_delta;
    patch_.pushed = request_.inside->pushed;
    patch_.by_frame_pointer = request_.inside->by_frame_pointer;
    patch_.red_zone_live = true;
  } else if (decoder_.decode(request_.function, at, instruction) &&
             instruction.raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64) {
    at = instruction.next();
  }
  const Address begin = at;
  const bool framed = request_.frame_shows && !request_.inside && end_of_frame(request_.function, begin);
  if (framed && cover_behind_start(begin)) return {std::move(patch_), {}};
  std::string kept;
  for (;;) {
    std::string reason = cover(at);
    if (!reason.empty()) return {std::nullopt, kept.empty() ? reason : kept + "; after it: " + reason};
    const std::string inside = kept_inside();
    if (inside.empty()) return {std::move(patch_), {}};
    if (at == begin && stops_inside() && cover_behind_start(begin)) return {std::move(patch_), {}};
    if (kept.empty()) kept = inside;
    if (request_.inside || !decoder_.decode(request_.function, at, instruction)) return {std::nullopt, kept};
    reason = skip(instruction);
    if (!reason.empty()) return {std::nullopt, kept + "; " + reason};
    at = instruction.next();
  }
}

bool Planner::stops_inside() const {
  return std::any_of(request_.stops.begin(), request_.stops.end(),
                     [&](Address stop) { return patch_.at < stop && stop < patch_.at + patch_.length; });
}

bool Planner::cover_behind_start(Address begin) {
  std::vector<Address> places(request_.stops.rbegin(), request_.stops.rend());
  if (const auto stored = end_of_stored_arguments(request_.function, begin)) places.push_back(*stored);
  if (const auto frame = end_of_frame(request_.function, begin)) places.push_back(*frame);
  DecodedInstruction instruction;
  for (Address at = begin; decoder_.decode(request_.function, at, instruction); places.push_back(at)) {
    at = instruction.next();
    if (!read_function_start(request_.function, begin, at)) break;
  }
  return std::any_of(places.begin(), places.end(),
                     [&](Address at) { return at > begin && cover_behind(begin, at); });
}

bool Planner::cover_behind(Address begin, Address at) {
  const Patch before = patch_;
  auto start = read_function_start(request_.function, begin, at);
  behind_start_ = true;
  const bool covered = start && cover(at).empty() && kept_inside().empty();
  behind_start_ = false;
  if (covered) {
    patch_.start = std::move(*start);
  } else {
    patch_ = before;
  }
  return covered;
}

/// Why the bytes cannot be taken; empty when nobody needs them.
std::string Planner::kept_inside() const {
  const auto inside = [&](Address address) { return address - patch_.at < patch_.length; };
  const bool breakpoint = std::any_of(request_.keep.begin(), request_.keep.end(), [&](Address keep) {
    return inside(keep) && !((patch_.prefix != 0 || behind_start_) && keep == patch_.at);
  });
  if (breakpoint) return "there is a breakpoint in the bytes of the jump";
  if (stops_inside()) return "stepping into it would stop in the bytes of the jump";
  const bool site = std::any_of(request_.others.begin(), request_.others.end(), inside);
  return site ? "another site lies in the bytes of the jump" : "";
}

std::string Planner::cover(Address at) {
  std::vector<DecodedInstruction> covered;
  Address last = at;
  patch_.at = at;
  patch_.falls_through = true;
  while ((last - at < kJumpSize || last - at <= patch_.prefix) && patch_.falls_through) {
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
    if (const auto target = instruction.branch_target();
        target && patch_.prefix != 0 && where.strictly_inside(*target))
      return "a patched branch stays in the patched bytes";
    if (instruction.is_call() && instruction.address != covered.back().address) {
      return "a call in the patched bytes returns into them";
    }
  }
  const CodeRange own{patch_.at, patch_.original};
  std::string reason = targets_.why_not_covered(patch_.function + 1, where.last, own);
  const bool one = covered.size() == 1 && patch_.at == patch_.function;
  if (!reason.empty() || one) return reason;
  return unclear_indirect_jump(request_.inside ? request_.inside->enclosing : request_.function,
                               targets_.knows_data());
}

/// Registers that carry nothing of a call's arguments and that the caller gets back: they were pushed.
bool Planner::is_pushed(ZydisRegister reg) const {
  const auto number = preserved_number(reg);
  return number && std::any_of(patch_.pushed.begin(), patch_.pushed.end(),
                               [&](const PushedRegister& pushed) { return pushed.number == *number; });
}

/// An argument into the function's own frame, below what the frame pointer points at.
bool Planner::stores_in_frame(const DecodedInstruction& instruction) const {
  const ZydisDecodedOperand& to = instruction.operands[0];
  const ZydisDecodedOperand& from = instruction.operands[1];
  return has_frame_ && to.type == ZYDIS_OPERAND_TYPE_MEMORY && to.mem.base == ZYDIS_REGISTER_RBP &&
         to.mem.index == ZYDIS_REGISTER_NONE && to.mem.disp.value < 0 &&
         from.type != ZYDIS_OPERAND_TYPE_MEMORY;
}

/// rsp into the frame pointer, an argument into a register that outlives calls, a test of an argument.
bool Planner::changes_only_pushed(const DecodedInstruction& instruction) const {
  for (unsigned i = 0; i < instruction.raw.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool memory =
        operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (memory || (written && !is_pushed(operand.reg.value))) return false;
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
      if (!harmless) break;
      patch_.sp_delta += 8;
      if (const auto number = preserved_number(operands[0].reg.value);
          number && !is_pushed(operands[0].reg.value))
        patch_.pushed.push_back({*number, patch_.sp_delta + 8});
      break;
    case ZYDIS_MNEMONIC_SUB:
      harmless = is_register(operands[0], ZYDIS_REGISTER_RSP) &&
                 operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[1].imm.value.s >= 0;
      if (harmless) patch_.sp_delta += static_cast<std::int32_t>(operands[1].imm.value.s);
      break;
    case ZYDIS_MNEMONIC_MOV:
      harmless = changes_only_pushed(instruction) || stores_in_frame(instruction);
      if (harmless && is_register(operands[0], ZYDIS_REGISTER_RBP))
        has_frame_ = is_register(operands[1], ZYDIS_REGISTER_RSP);
      break;
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_CMP:
      harmless = changes_only_pushed(instruction) && !is_register(operands[0], ZYDIS_REGISTER_RBP);
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

namespace {

/// Runs in the stub before the probe, with the stack as it is at the probe.
bool may_run_before(const DecodedInstruction& instruction) {
  const auto moves_stack = [](const ZydisDecodedOperand& operand) {
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    return written && operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
           (operand.reg.value == ZYDIS_REGISTER_RSP || operand.reg.value == ZYDIS_REGISTER_RBP);
  };
  const auto& operands = instruction.operands;
  return !instruction.is_call() && instruction.falls_through() &&
         std::none_of(operands.begin(), operands.begin() + instruction.raw.operand_count, moves_stack);
}

/// Where a patch of the instruction may begin instead, nearest first.
std::vector<Address> places_before(const InsideFunction& inside, Address probed) {
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  std::vector<Address> places;
  for (Address at = inside.enclosing.address; at < probed; at = instruction.next()) {
    if (!decoder.decode(inside.enclosing, at, instruction) || instruction.next() > probed) return {};
    if (may_run_before(instruction)) {
      places.push_back(at);
    } else {
      places.clear();
    }
  }
  std::reverse(places.begin(), places.end());
  std::erase_if(places, [&](Address at) { return probed - at >= kLongestPrefix; });
  return places;
}

}  // namespace

Patch first_part(const Patch& patch, unsigned bytes) {
  Patch first = patch;
  first.length = bytes;
  first.original.resize(bytes);
  first.falls_through = false;
  return first;
}

Patch rest_of(const Patch& patch, unsigned bytes) {
  Patch rest = patch;
  rest.at += bytes;
  rest.length -= bytes;
  rest.original.erase(rest.original.begin(), rest.original.begin() + bytes);
  return rest;
}

Patch with_start(const Patch& patch) {
  Patch whole = patch;
  const auto& code = patch.start.code;
  whole.at -= code.size();
  whole.length += static_cast<unsigned>(code.size());
  whole.original.insert(whole.original.begin(), code.begin(), code.end());
  return whole;
}

PatchResult plan_patch(const PatchRequest& request, const BranchTargets& targets) {
  if (request.function.bytes.empty()) return {std::nullopt, "no code is known at the address"};
  PatchResult result = Planner(request, targets).plan();
  if (result.patch || !request.inside) return result;
  const Address probed = request.function.address;
  for (const Address at : places_before(*request.inside, probed)) {
    PatchRequest earlier = request;
    earlier.function = request.inside->enclosing.from(at);
    PatchResult planned = Planner(earlier, targets, static_cast<unsigned>(probed - at)).plan();
    if (planned.patch) return planned;
  }
  return result;
}

}  // namespace refhist
