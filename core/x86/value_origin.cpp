#include "x86/value_origin.h"

#include <algorithm>

#include "x86/clobbered_registers.h"

namespace refhist {

namespace {

bool has(ClobberedRegisters::Set registers, unsigned reg) { return (registers >> reg & 1U) != 0; }

bool writes(const DecodedInstruction& instruction, unsigned reg) {
  return has(
      instruction.is_call() ? ClobberedRegisters::kByConvention : ClobberedRegisters::written_by(instruction),
      reg);
}

/// What the instruction adds to rsp; nothing when it cannot be told.
std::optional<std::int64_t> pushed(const DecodedInstruction& instruction) {
  constexpr std::int64_t kWord = sizeof(Address);
  if (instruction.is_call() || !writes(instruction, kRsp)) return 0;
  const ZydisDecodedOperand& by = instruction.operands[1];
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
      return -kWord;
    case ZYDIS_MNEMONIC_POP:
      return kWord;
    case ZYDIS_MNEMONIC_ADD:
      return is_immediate(by) ? std::optional(by.imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_SUB:
      return is_immediate(by) ? std::optional(-by.imm.value.s) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ValueOrigin::Traced> ValueOrigin::stack_pointer(std::size_t before) const {
  Traced traced{registers_[kRsp], {}};
  for (std::size_t i = before; i < way_.size(); ++i) {
    const auto by = pushed(way_[i]);
    if (!by) return std::nullopt;
    traced.value -= static_cast<Address>(*by);
  }
  return traced;
}

bool ValueOrigin::is_unchanged(unsigned reg, std::size_t since) const {
  if (known_ == Known::preserved && has(ClobberedRegisters::kByConvention, reg)) return false;
  const auto behind = way_.begin() + static_cast<std::ptrdiff_t>(since);
  return std::none_of(behind, way_.end(), [&](const auto& later) { return writes(later, reg); });
}

std::optional<ValueOrigin::Traced> ValueOrigin::copied(unsigned reg, std::size_t before) const {
  for (std::size_t i = before; i-- > 0 && !writes(way_[i], reg);) {
    const auto& operands = way_[i].operands;
    const bool copies = way_[i].raw.mnemonic == ZYDIS_MNEMONIC_MOV && way_[i].raw.operand_width == 64 &&
                        is_register(operands[0]) && is_register(operands[1]) &&
                        dwarf_number(operands[1].reg.value) == reg;
    const auto copy = copies ? dwarf_number(operands[0].reg.value) : std::nullopt;
    if (copy && is_unchanged(*copy, i + 1)) return Traced{registers_[*copy], {}};
  }
  return std::nullopt;
}

std::optional<std::size_t> ValueOrigin::writer(unsigned reg, std::size_t before) const {
  while (before > 0 && !writes(way_[before - 1], reg)) --before;
  return before > 0 ? std::optional(before - 1) : std::nullopt;
}

// As the last instruction that has changed it says; else what is known of the value that it left.
std::optional<ValueOrigin::Traced> ValueOrigin::value(unsigned reg, std::size_t before) const {
  if (reg == kRsp) return stack_pointer(before);
  const auto last = writer(reg, before);
  auto traced = last ? written(*last, reg) : std::nullopt;
  if (!traced && !last && from_entry_ && at_entry_) traced = at_entry_(reg);
  if (!traced && is_unchanged(reg, before)) traced = Traced{registers_[reg], {}};
  return traced ? traced : copied(reg, before);
}

std::optional<ValueOrigin::Traced> ValueOrigin::written(std::size_t index, unsigned reg) const {
  const DecodedInstruction& instruction = way_[index];
  const ZydisDecodedOperand& target = instruction.operands[0];
  const bool whole =
      instruction.raw.operand_width == 64 && is_register(target) && dwarf_number(target.reg.value) == reg;
  return whole && !instruction.is_call() ? moved(index) : std::nullopt;
}

std::optional<ValueOrigin::Traced> ValueOrigin::moved(std::size_t index) const {
  const DecodedInstruction& instruction = way_[index];
  const ZydisDecodedOperand& target = instruction.operands[0];
  const ZydisDecodedOperand& source = instruction.operands[1];
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV: {
      if (source.type == ZYDIS_OPERAND_TYPE_MEMORY) return loaded(index, source);
      const auto from = is_register(source) ? dwarf_number(source.reg.value) : std::nullopt;
      return from ? value(*from, index) : std::nullopt;
    }
    case ZYDIS_MNEMONIC_LEA:
      return address(instruction, source, index);
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB: {
      if (!is_immediate(source)) return std::nullopt;
      auto traced = value(*dwarf_number(target.reg.value), index);
      const auto by = static_cast<Address>(source.imm.value.s);
      if (traced) traced->value += instruction.raw.mnemonic == ZYDIS_MNEMONIC_ADD ? by : -by;
      return traced;
    }
    default:
      return std::nullopt;
  }
}

// By the same name of the place.
std::optional<std::size_t> ValueOrigin::store_to(const ZydisDecodedOperand& place, std::size_t before) const {
  const auto& variable = place.mem;
  // Without a frame pointer, rbp is a register like others.
  constexpr Address kLargestFrame = 1U << 20U;
  const bool frame =
      variable.base == ZYDIS_REGISTER_RBP && registers_[kRbp] - registers_[kRsp] < kLargestFrame;
  if (variable.index != ZYDIS_REGISTER_NONE || (variable.base != ZYDIS_REGISTER_RSP && !frame))
    return std::nullopt;
  const auto is_place = [&](const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == variable.base &&
           operand.mem.index == ZYDIS_REGISTER_NONE && operand.mem.disp.value == variable.disp.value;
  };
  std::optional<std::size_t> store;
  for (std::size_t i = before; i-- > 0;) {
    const DecodedInstruction& earlier = way_[i];
    if (writes(earlier, *dwarf_number(variable.base))) break;
    // Whoever has the address may store there, too.
    if (earlier.raw.mnemonic == ZYDIS_MNEMONIC_LEA && is_place(earlier.operands[1])) return std::nullopt;
    const bool changes = (earlier.operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (store || !changes || !is_place(earlier.operands[0])) continue;
    const bool whole = earlier.raw.mnemonic == ZYDIS_MNEMONIC_MOV && earlier.raw.operand_width == 64 &&
                       is_register(earlier.operands[1]);
    if (!whole) return std::nullopt;
    store = i;
  }
  return store;
}

std::optional<ValueOrigin::Traced> ValueOrigin::spilled(std::size_t index,
                                                        const ZydisDecodedOperand& operand) const {
  const auto store = store_to(operand, index);
  const auto from = store ? dwarf_number(way_[*store].operands[1].reg.value) : std::nullopt;
  return from ? value(*from, *store) : std::nullopt;
}

ValueOrigin::Root ValueOrigin::root(unsigned reg, std::size_t before) const {
  const auto last = writer(reg, before);
  if (!last) return {from_entry_ ? Root::By::caller : Root::By::unknown, reg};
  const DecodedInstruction& instruction = way_[*last];
  if (instruction.is_call()) return {reg == kRax ? Root::By::call : Root::By::unknown, reg};
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || instruction.raw.operand_width != 64) return {};
  const ZydisDecodedOperand& source = instruction.operands[1];
  const auto store = source.type == ZYDIS_OPERAND_TYPE_MEMORY ? store_to(source, *last) : std::nullopt;
  const ZydisDecodedOperand& given = store ? way_[*store].operands[1] : source;
  const auto from = is_register(given) ? dwarf_number(given.reg.value) : std::nullopt;
  return from ? root(*from, store.value_or(*last)) : Root();
}

std::optional<ValueOrigin::Traced> ValueOrigin::loaded(std::size_t index,
                                                       const ZydisDecodedOperand& operand) const {
  auto traced = address(way_[index], operand, index);
  if (!traced) return std::nullopt;
  traced->read.push_back(traced->value);
  if (!read_(traced->value, traced->value)) return std::nullopt;
  // What lies on the way there may have changed since, and not the variable. The place itself may have been
  // cleared.
  auto stored = spilled(index, operand);
  const bool same = stored && !stored->read.empty() && (stored->value == traced->value || stored->value == 0);
  if (!same) return traced;
  stored->value = traced->value;
  return stored;
}

std::optional<ValueOrigin::Traced> ValueOrigin::address(const DecodedInstruction& instruction,
                                                        const ZydisDecodedOperand& operand,
                                                        std::size_t before) const {
  const auto& memory = operand.mem;
  if (memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS) return std::nullopt;
  const auto displacement =
      static_cast<Address>(memory.disp.has_displacement ? memory.disp.value : std::int64_t{0});
  if (memory.base == ZYDIS_REGISTER_RIP) return Traced{instruction.next() + bias_ + displacement, {}};
  const auto base = dwarf_number(memory.base);
  auto traced = base ? value(*base, before) : std::nullopt;
  if (!traced) return std::nullopt;
  traced->value += displacement;
  if (memory.index == ZYDIS_REGISTER_NONE) return traced;
  const auto index = dwarf_number(memory.index);
  const auto by = index ? value(*index, before) : std::nullopt;
  if (!by) return std::nullopt;
  traced->value += by->value * memory.scale;
  return traced;
}

}  // namespace refhist
