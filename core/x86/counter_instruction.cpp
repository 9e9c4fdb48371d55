#include "x86/counter_instruction.h"

#include <algorithm>

namespace refhist {

namespace {

std::uint64_t low_bytes(std::uint64_t value, unsigned size) {
  return size >= sizeof value ? value : value & ((std::uint64_t{1} << (8 * size)) - 1);
}

/// False for memory that no counter of an object is in: stack slots, thread-local variables.
bool set_operand(const DecodedInstruction& instruction, std::size_t number, CounterInstruction& change) {
  const ZydisDecodedOperand& operand = instruction.operands[number];
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) return false;
  const ZydisDecodedOperandMem& memory = operand.mem;
  const bool local = memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS ||
                     memory.base == ZYDIS_REGISTER_RSP;
  if (local) return false;
  change.size = static_cast<std::uint8_t>(operand.size / 8);
  change.length = instruction.raw.length;
  change.address = instruction.address;
  change.displacement = memory.disp.value;
  if (const auto absolute = instruction.rip_target()) {
    change.displacement = static_cast<std::int64_t>(*absolute);
    return true;
  }
  change.base = CounterInstruction::register_number(memory.base);
  change.index = CounterInstruction::register_number(memory.index);
  change.scale = memory.scale;
  return change.base != CounterInstruction::kNoRegister;
}

void set_source(const DecodedInstruction& instruction, CounterInstruction& change) {
  const ZydisDecodedOperand& operand = instruction.operands[1];
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER)
    change.source = CounterInstruction::register_number(operand.reg.value);
  if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) change.constant = operand.imm.value.s;
}

}  // namespace

std::uint8_t CounterInstruction::register_number(ZydisRegister name) {
  return static_cast<std::uint8_t>(dwarf_number(name).value_or(kNoRegister));
}

std::optional<CounterInstruction> CounterInstruction::at_memory(const DecodedInstruction& instruction,
                                                                std::size_t operand) {
  CounterInstruction place;
  return set_operand(instruction, operand, place) ? std::optional(place) : std::nullopt;
}

std::optional<CounterInstruction> CounterInstruction::of(const DecodedInstruction& instruction) {
  CounterInstruction change;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
      change.constant = 1;
      change.negative = instruction.raw.mnemonic == ZYDIS_MNEMONIC_DEC;
      break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_XADD:
      change.negative = instruction.raw.mnemonic == ZYDIS_MNEMONIC_SUB;
      set_source(instruction, change);
      break;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_XCHG:
      change.kind = Kind::store;
      set_source(instruction, change);
      break;
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVLPS:
    case ZYDIS_MNEMONIC_MOVHPS:
    case ZYDIS_MNEMONIC_VMOVQ:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVDQU:
      change.kind = Kind::store;
      change.opaque = true;
      break;
    case ZYDIS_MNEMONIC_CMPXCHG:
      change.kind = Kind::compare_exchange;
      set_source(instruction, change);
      break;
    default:
      return std::nullopt;
  }
  const bool from_unknown = !change.opaque && instruction.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                            instruction.raw.operand_count_visible > 1 &&
                            change.source == CounterInstruction::kNoRegister;
  if (from_unknown || !set_operand(instruction, 0, change)) return std::nullopt;
  return change;
}

Address CounterInstruction::counter(const Registers& registers, Address bias) const {
  Address at = static_cast<Address>(displacement);
  at += base == kNoRegister ? bias : registers[base];
  if (index != kNoRegister) at += registers[index] * scale;
  return at;
}

bool CounterInstruction::steps_low_part(std::uint32_t counter_size) const {
  return size < counter_size && kind != Kind::compare_exchange && step() != 0;
}

bool CounterInstruction::steps_wider(std::uint32_t counter_size) const {
  return size > counter_size && kind != Kind::compare_exchange && kind != Kind::last && step() != 0;
}

std::uint8_t CounterInstruction::span(std::uint32_t counter_size) const {
  const std::uint32_t all = steps_low_part(counter_size) ? counter_size : size;
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(all, sizeof(std::uint64_t)));
}

std::uint64_t CounterInstruction::part(std::uint64_t operand, std::uint32_t counter_size) const {
  // A vector store may have the counter behind the bytes that are read; what it stores is not looked at.
  return within < sizeof operand ? low_bytes(operand >> (8U * within), counter_size) : 0;
}

std::optional<std::uint64_t> CounterInstruction::after(const Registers& registers,
                                                       std::uint64_t before) const {
  if (kind == Kind::compare_exchange && low_bytes(registers[kRax], size) != low_bytes(before, size))
    return std::nullopt;
  return after(source != kNoRegister ? registers[source] : static_cast<std::uint64_t>(constant), before);
}

int CounterInstruction::step() const {
  if (kind == Kind::last) return -1;
  if (told_step) return *told_step == 1 || *told_step == -1 ? static_cast<int>(*told_step) : 0;
  if (kind != Kind::add || source != kNoRegister || (constant != 1 && constant != -1)) return 0;
  return static_cast<int>(negative ? -constant : constant);
}

std::optional<std::uint64_t> CounterInstruction::after(std::uint64_t operand, std::uint64_t before) const {
  if (opaque) return before;
  if (kind == Kind::last) {
    const std::uint64_t rest = before - low_bytes(before, size);
    return before - rest == operand ? std::optional(rest) : std::nullopt;
  }
  std::uint64_t result = operand;
  if (kind == Kind::add) result = negative ? before - operand : before + operand;
  return before - low_bytes(before, size) + low_bytes(result, size);
}

}  // namespace refhist
