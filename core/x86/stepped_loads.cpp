#include "x86/stepped_loads.h"

#include <cstdlib>
#include <set>

namespace refhist {

namespace {

bool is_plain_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

}  // namespace

std::optional<SteppedLoads::Loaded> SteppedLoads::more_than(ZydisRegister reg, std::int64_t more) const {
  const auto number = dwarf_number(reg);
  if (!number || !loaded_[*number]) return std::nullopt;
  Loaded value = *loaded_[*number];
  value.added += more;
  return value;
}

std::optional<SteppedLoads::Slot> SteppedLoads::slot_of(const ZydisDecodedOperand& operand) {
  const bool simple = is_plain_memory(operand) && operand.mem.index == ZYDIS_REGISTER_NONE;
  const bool in_frame =
      simple && (operand.mem.base == ZYDIS_REGISTER_RBP || operand.mem.base == ZYDIS_REGISTER_RSP);
  return in_frame ? std::optional(Slot{operand.mem.base, operand.mem.disp.value}) : std::nullopt;
}

void SteppedLoads::follow_slot(const DecodedInstruction& instruction) {
  const ZydisDecodedOperand& first = instruction.operands[0];
  const bool written = (first.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  const auto slot = written ? slot_of(first) : std::nullopt;
  if (!slot) return;
  const bool moves = instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV && is_register(instruction.operands[1]);
  const auto value = moves ? more_than(instruction.operands[1].reg.value, 0) : std::nullopt;
  if (value) {
    slots_.insert_or_assign(*slot, *value);
  } else {
    slots_.erase(*slot);
  }
}

std::optional<SteppedLoads::Loaded> SteppedLoads::put_by(const DecodedInstruction& instruction) const {
  const ZydisDecodedOperand& first = instruction.operands[0];
  const ZydisDecodedOperand& second = instruction.operands[1];
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      if (is_register(second)) return more_than(second.reg.value, 0);
      if (const auto slot = slot_of(second)) {
        const auto kept = slots_.find(*slot);
        if (kept != slots_.end()) return kept->second;
      }
      if (is_plain_memory(second)) return Loaded{instruction.address, second.mem.disp.value, second.size, 0};
      return std::nullopt;
    case ZYDIS_MNEMONIC_LEA:
      return second.mem.index == ZYDIS_REGISTER_NONE ? more_than(second.mem.base, second.mem.disp.value)
                                                     : std::nullopt;
    case ZYDIS_MNEMONIC_ADD:
      return is_immediate(second) ? more_than(first.reg.value, second.imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_SUB:
      return is_immediate(second) ? more_than(first.reg.value, -second.imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_INC:
      return more_than(first.reg.value, 1);
    case ZYDIS_MNEMONIC_DEC:
      return more_than(first.reg.value, -1);
    default:
      return std::nullopt;
  }
}

void SteppedLoads::follow(const DecodedInstruction& instruction) {
  follow_slot(instruction);
  const ZydisDecodedOperand& first = instruction.operands[0];
  const auto target = is_register(first) ? dwarf_number(first.reg.value) : std::nullopt;
  const auto put = target ? put_by(instruction) : std::nullopt;
  // A function of the same module may leave other registers alone than the convention says.
  if (instruction.is_call()) loaded_[kRax].reset();
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    const auto reg = written && is_register(operand) ? dwarf_number(operand.reg.value) : std::nullopt;
    if (reg) loaded_[*reg].reset();
  }
  if (put) loaded_[*target] = put;
}

std::optional<SteppedLoads::Loaded> SteppedLoads::stored_by(const DecodedInstruction& store) const {
  constexpr std::int64_t kMost = 4;
  const ZydisDecodedOperand& to = store.operands[0];
  const ZydisDecodedOperand& from = store.operands[1];
  if (store.raw.mnemonic != ZYDIS_MNEMONIC_MOV || !is_plain_memory(to) || !is_register(from))
    return std::nullopt;
  const auto value = more_than(from.reg.value, 0);
  const bool same = value && value->displacement == to.mem.disp.value && value->bits == to.size;
  return same && std::abs(value->added) <= kMost ? value : std::nullopt;
}

/// Follows the ways through a function.
class SteppedLoads::Walk {
 public:
  explicit Walk(const CodeRange& code) : code_(code) {}

  void run() {
    follow_from(code_.address, {});
    DecodedInstruction instruction;
    for (Address at = code_.address; decoder_.decode(code_, at, instruction); at = instruction.next()) {
      while (!waiting_.empty()) {
        const auto next = waiting_.extract(waiting_.begin());
        follow_from(next.key(), next.mapped());
      }
      follow_from(at, {});  // what only a jump table leads to
    }
  }
  [[nodiscard]] std::map<Address, int> steps() const {
    std::map<Address, int> steps;
    for (const auto& [at, stored] : stores_) {
      if (stepped_.contains(stored.by)) steps.emplace(at, static_cast<int>(stored.added));
    }
    return steps;
  }

 private:
  void follow_from(Address at, SteppedLoads loads) {
    DecodedInstruction instruction;
    for (; !seen_.contains(at) && decoder_.decode(code_, at, instruction); at = instruction.next()) {
      seen_.insert(at);
      look_at(loads, instruction);
      loads.follow(instruction);
      const auto target = instruction.is_call() ? std::nullopt : instruction.branch_target();
      if (target && code_.contains(*target) && !seen_.contains(*target)) waiting_.try_emplace(*target, loads);
      if (!instruction.falls_through()) return;
    }
  }
  void look_at(const SteppedLoads& loads, const DecodedInstruction& instruction) {
    const auto stored = loads.stored_by(instruction);
    if (!stored) return;
    stores_.emplace(instruction.address, *stored);
    if (stored->added != 0) stepped_.insert(stored->by);
  }

  CodeRange code_;
  InstructionDecoder decoder_;
  std::set<Address> seen_;
  std::map<Address, SteppedLoads> waiting_;
  std::map<Address, Loaded> stores_;
  std::set<Address> stepped_;  // loads of which something else was stored again
};

std::map<Address, int> SteppedLoads::in(const CodeRange& code) {
  Walk walk(code);
  walk.run();
  return walk.steps();
}

}  // namespace refhist
