#include "sites/register_distances.h"

#include "sites/counter_instruction.h"

namespace refhist {

namespace {

constexpr std::uint8_t kNone = CounterInstruction::kNoRegister;

bool is_register(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_REGISTER; }

}  // namespace

std::optional<RegisterDistances::Slot> RegisterDistances::slot(const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.index != ZYDIS_REGISTER_NONE)
    return std::nullopt;
  const std::uint8_t base = CounterInstruction::register_number(operand.mem.base);
  if (base != kRbp && base != kRsp) return std::nullopt;
  return Slot(base, operand.mem.disp.value);
}

std::optional<std::int64_t> RegisterDistances::of(const ZydisDecodedOperand& operand) const {
  if (is_register(operand)) {
    const std::uint8_t number = CounterInstruction::register_number(operand.reg.value);
    return number == kNone ? std::nullopt : registers_[number];
  }
  const auto place = slot(operand);
  const auto found = place ? slots_.find(*place) : slots_.end();
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

void RegisterDistances::set(const ZydisDecodedOperand& operand, std::optional<std::int64_t> distance) {
  if (is_register(operand)) {
    const std::uint8_t number = CounterInstruction::register_number(operand.reg.value);
    if (number != kNone) registers_[number] = distance;
  } else if (const auto place = slot(operand)) {
    slots_.erase(*place);
    if (distance) slots_.emplace(*place, *distance);
  }
}

void RegisterDistances::follow(const DecodedInstruction& instruction) {
  const auto& operands = instruction.operands;
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  const bool wide = instruction.raw.operand_width == 64;
  if (wide && mnemonic == ZYDIS_MNEMONIC_LEA && operands[1].mem.index == ZYDIS_REGISTER_NONE &&
      !instruction.rip_target()) {
    const std::uint8_t base = CounterInstruction::register_number(operands[1].mem.base);
    const std::int64_t before = base == kNone ? 0 : registers_[base].value_or(0);
    return set(operands[0], before + operands[1].mem.disp.value);
  }
  if (wide && mnemonic == ZYDIS_MNEMONIC_MOV) return set(operands[0], of(operands[1]));
  if (wide && mnemonic == ZYDIS_MNEMONIC_ADD && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return set(operands[0], of(operands[0]).value_or(0) + operands[1].imm.value.s);
  if (instruction.is_call()) {
    for (const unsigned reg : {kRax, kRcx, kRdx, kRsi, kRdi, kR8, kR9, kR10, kR11}) registers_[reg].reset();
    return;
  }
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) set(operands[i], std::nullopt);
  }
}

bool RegisterDistances::meet(const RegisterDistances& other) {
  bool less = false;
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    if (!registers_[i] || registers_[i] == other.registers_[i]) continue;
    registers_[i].reset();
    less = true;
  }
  const auto dropped = std::erase_if(slots_, [&](const auto& known) {
    const auto found = other.slots_.find(known.first);
    return found == other.slots_.end() || found->second != known.second;
  });
  return less || dropped != 0;
}

}  // namespace refhist
