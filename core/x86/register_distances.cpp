#include "x86/register_distances.h"

#include "x86/counter_instruction.h"

namespace refhist {

namespace {

constexpr std::uint8_t kNone = CounterInstruction::kNoRegister;

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

std::optional<std::int64_t> RegisterDistances::more_than(std::uint8_t reg, std::uint8_t base,
                                                         std::int64_t displacement) const {
  const std::optional<Loaded>& loaded = loaded_[reg];
  const Loaded place = loaded_from(base, displacement);
  const bool same = loaded && loaded->base == place.base && loaded->displacement == place.displacement;
  return same ? std::optional(loaded->added) : std::nullopt;
}

/// The value of the first operand behind the instruction, as a loaded one and what was added.
std::optional<RegisterDistances::Loaded> RegisterDistances::loaded_by(
    const DecodedInstruction& instruction) const {
  const auto& operands = instruction.operands;
  const auto reg = [](ZydisRegister name) { return CounterInstruction::register_number(name); };
  const auto moved = [&](std::uint8_t from, std::int64_t by) {
    std::optional<Loaded> value = from == kNone ? std::nullopt : loaded_[from];
    if (value) value->added += by;
    return value;
  };
  const bool by_number = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      if (is_register(operands[1])) return moved(reg(operands[1].reg.value), 0);
      if (operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY || reg(operands[1].mem.base) == kNone ||
          operands[1].mem.index != ZYDIS_REGISTER_NONE)
        return std::nullopt;
      return loaded_from(reg(operands[1].mem.base), operands[1].mem.disp.value);
    case ZYDIS_MNEMONIC_LEA:
      if (operands[1].mem.index != ZYDIS_REGISTER_NONE) return std::nullopt;
      return moved(reg(operands[1].mem.base), operands[1].mem.disp.value);
    case ZYDIS_MNEMONIC_ADD:
      return by_number ? moved(reg(operands[0].reg.value), operands[1].imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_SUB:
      return by_number ? moved(reg(operands[0].reg.value), -operands[1].imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_INC:
      return moved(reg(operands[0].reg.value), 1);
    case ZYDIS_MNEMONIC_DEC:
      return moved(reg(operands[0].reg.value), -1);
    default:
      return std::nullopt;
  }
}

RegisterDistances::Loaded RegisterDistances::loaded_from(std::uint8_t base, std::int64_t displacement) const {
  const std::optional<Alias>& alias = aliases_[base];
  return alias ? Loaded{alias->base, displacement + alias->above, 0} : Loaded{base, displacement, 0};
}

std::optional<RegisterDistances::Alias> RegisterDistances::alias_made_by(
    const DecodedInstruction& instruction) const {
  if (instruction.raw.operand_width != 64) return std::nullopt;
  const ZydisDecodedOperand& from = instruction.operands[1];
  std::uint8_t base = kNone;
  std::int64_t above = 0;
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.index == ZYDIS_REGISTER_NONE) {
    base = CounterInstruction::register_number(from.mem.base);
    above = from.mem.disp.value;
  } else if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV && is_register(from)) {
    base = CounterInstruction::register_number(from.reg.value);
  }
  if (base == kNone || base == kRsp || base == kRbp) return std::nullopt;
  const Loaded place = loaded_from(base, above);
  return Alias{place.base, place.displacement};
}

// The register gets another value. What was told by it is told by one that was made from it, if there is any.
void RegisterDistances::forget_base(std::uint8_t reg) {
  aliases_[reg].reset();
  std::optional<Alias> heir;
  for (std::size_t other = 0; other < aliases_.size(); ++other) {
    std::optional<Alias>& alias = aliases_[other];
    if (!alias || alias->base != reg) continue;
    if (!heir) heir = Alias{static_cast<std::uint8_t>(other), alias->above};
    alias = other == heir->base ? std::nullopt : std::optional(Alias{heir->base, alias->above - heir->above});
  }
  for (std::optional<Loaded>& value : loaded_) {
    if (!value || value->base != reg) continue;
    if (!heir) {
      value.reset();
      continue;
    }
    value->displacement -= heir->above;
    value->base = heir->base;
  }
}

// What is stored may be what was loaded; a variable of its own, or one in the frame, is no object's counter,
// and neither is another word of the frame.
void RegisterDistances::forget_loaded(const ZydisDecodedOperand& stored) {
  const auto in_frame = [](std::uint8_t base) { return base == kRsp || base == kRbp; };
  const std::uint8_t through = CounterInstruction::register_number(stored.mem.base);
  const bool variable = stored.mem.base == ZYDIS_REGISTER_RIP || in_frame(through);
  const bool one_word = in_frame(through) && stored.mem.index == ZYDIS_REGISTER_NONE && stored.size <= 64;
  for (std::optional<Loaded>& value : loaded_) {
    if (!value || (variable && !in_frame(value->base))) continue;
    const std::int64_t apart = value->displacement - stored.mem.disp.value;
    if (one_word && value->base == through && (apart >= 8 || apart <= -8)) continue;
    value.reset();
  }
}

void RegisterDistances::follow_values(const DecodedInstruction& instruction) {
  if (instruction.is_call()) {
    constants_ = {};
    loaded_ = {};
    aliases_ = {};
    return;
  }
  const auto& operands = instruction.operands;
  const bool to_register = is_register(operands[0]);
  const std::optional<Loaded> loaded = to_register ? loaded_by(instruction) : std::nullopt;
  const std::optional<Alias> alias = to_register ? alias_made_by(instruction) : std::nullopt;
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const bool written = (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    const std::uint8_t number =
        is_register(operands[i]) ? CounterInstruction::register_number(operands[i].reg.value) : kNone;
    if (written && operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) forget_loaded(operands[i]);
    if (!written || number == kNone) continue;
    constants_[number].reset();
    loaded_[number].reset();
    forget_base(number);
  }
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_CMPXCHG && !to_register) {
    // rax holds what the memory held, whether that was exchanged or not.
    const std::uint8_t base = CounterInstruction::register_number(operands[0].mem.base);
    const bool simple = base != kNone && base != kRax && operands[0].mem.index == ZYDIS_REGISTER_NONE;
    if (simple) loaded_[kRax] = loaded_from(base, operands[0].mem.disp.value);
  }
  const std::uint8_t target =
      to_register ? CounterInstruction::register_number(operands[0].reg.value) : kNone;
  if (target == kNone) return;
  if (alias && alias->base != target) aliases_[target] = alias;
  if (loaded && loaded->base != target) loaded_[target] = loaded;
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    constants_[target] = instruction.raw.operand_width == 64
                             ? operands[1].imm.value.s
                             : static_cast<std::int32_t>(operands[1].imm.value.u);
}

void RegisterDistances::follow_above_rax(const DecodedInstruction& instruction) {
  const auto& operands = instruction.operands;
  const auto reg = [](ZydisRegister name) { return CounterInstruction::register_number(name); };
  const std::uint8_t target = is_register(operands[0]) ? reg(operands[0].reg.value) : kNone;
  std::optional<std::int64_t> above;
  const bool by_number = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
      if (reg(operands[1].mem.base) == kRax && operands[1].mem.index == ZYDIS_REGISTER_NONE)
        above = operands[1].mem.disp.value;
      break;
    case ZYDIS_MNEMONIC_MOV:
      if (is_register(operands[1]) && reg(operands[1].reg.value) == kRax) above = 0;
      break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      if (by_number && target != kNone && above_rax_[target])
        above = *above_rax_[target] +
                (instruction.raw.mnemonic == ZYDIS_MNEMONIC_ADD ? 1 : -1) * operands[1].imm.value.s;
      break;
    default:
      break;
  }
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const bool written = (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    const std::uint8_t number = is_register(operands[i]) ? reg(operands[i].reg.value) : kNone;
    if (!written || number == kNone) continue;
    above_rax_[number].reset();
    if (number == kRax) above_rax_ = {};
  }
  if (instruction.is_call()) above_rax_ = {};
  if (above && target != kNone && target != kRax) above_rax_[target] = above;
}

void RegisterDistances::follow(const DecodedInstruction& instruction, ClobberedRegisters::Set clobbered) {
  follow_values(instruction);
  follow_above_rax(instruction);
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
    for (unsigned reg = 0; reg < registers_.size(); ++reg) {
      if ((clobbered >> reg & 1U) != 0) registers_[reg].reset();
    }
    return;
  }
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) set(operands[i], std::nullopt);
  }
}

bool RegisterDistances::meet(const RegisterDistances& other) {
  bool less = false;
  const auto keep = [&](auto& mine, const auto& theirs) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (!mine[i] || mine[i] == theirs[i]) continue;
      mine[i].reset();
      less = true;
    }
  };
  keep(registers_, other.registers_);
  keep(constants_, other.constants_);
  keep(above_rax_, other.above_rax_);
  keep(loaded_, other.loaded_);
  keep(aliases_, other.aliases_);
  const auto dropped = std::erase_if(slots_, [&](const auto& known) {
    const auto found = other.slots_.find(known.first);
    return found == other.slots_.end() || found->second != known.second;
  });
  return less || dropped != 0;
}

}  // namespace refhist
