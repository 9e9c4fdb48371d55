#include "x86/instruction_effects.h"

#include <algorithm>

namespace refhist {

std::int64_t as_signed(std::int64_t value, unsigned bytes) {
  if (bytes >= 8) return value;
  const unsigned shift = 64 - 8 * bytes;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift) >> shift;
}

void InstructionEffects::changed(const Value& cell, std::int64_t delta, unsigned bytes) {
  if (delta == 0 || values_.root_argument(cell) == 0) return;
  const auto same = [&](const CounterChange& other) {
    return other.cell == cell && other.delta == delta && other.depth == depth_;
  };
  if (std::any_of(facts_.changes.begin(), facts_.changes.end(), same)) return;
  facts_.changes.push_back({cell, delta, static_cast<std::uint8_t>(bytes), depth_});
}

void InstructionEffects::store(const Value& address, const Value& value, unsigned bytes,
                               MachineState& state) {
  if (!address.known()) return;
  if (values_.is_stack(address)) {
    state.store_to_stack(address, value);
  } else if (values_.is_content_of(value, address)) {
    changed(address, as_signed(value.offset, bytes), bytes);
  } else if (values_.is_constant(value)) {
    facts_.stores.push_back({address, value.offset, static_cast<std::uint8_t>(bytes), depth_, false});
  } else if (const auto constant = constant_in_memory(value, bytes)) {
    facts_.stores.push_back({address, *constant, static_cast<std::uint8_t>(bytes), depth_, false});
  }
}

std::optional<std::int64_t> InstructionEffects::constant_in_memory(const Value& value, unsigned bytes) const {
  const Value from = values_.loaded_from(value);
  std::int64_t read = 0;
  if (module_ == nullptr || value.offset != 0 || !from.known() || !values_.is_constant(from) ||
      bytes > sizeof read)
    return std::nullopt;
  const auto at = static_cast<Address>(from.offset);
  const auto& segments = module_->segments();
  const bool constant = std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return !segment.writable && at >= segment.address && at - segment.address < segment.file_size;
  });
  return constant && module_->read_code(at, &read, bytes) ? std::optional(as_signed(read, bytes))
                                                          : std::nullopt;
}

void InstructionEffects::write(const DecodedInstruction& instruction, const ZydisDecodedOperand& operand,
                               MachineState& state, const Value& value) {
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    store(state.address_of(operand, instruction.next()), value, operand.size / 8U, state);
  } else if (const auto number = MachineState::number_of(operand.reg.value)) {
    state.set_reg(*number, value);
  }
}

void InstructionEffects::arithmetic(const DecodedInstruction& instruction, MachineState& state,
                                    const Value& by, int sign) {
  const ZydisDecodedOperand& target = instruction.operands[0];
  const Value old = state.read(target, instruction.next());
  Value result;
  if (values_.is_constant(by) && old.known()) {
    result = {old.place, old.offset + sign * as_signed(by.offset, target.size / 8U), old.exact};
  } else if (sign > 0) {
    result = sum(values_, old, by);
  }
  write(instruction, target, state, result);
}

void InstructionEffects::negate(const DecodedInstruction& instruction, MachineState& state) {
  const Value old = state.read(instruction.operands[0], instruction.next());
  const Value negative = values_.is_constant(old) ? values_.constant(-old.offset) : Value{};
  write(instruction, instruction.operands[0], state, negative);
}

void InstructionEffects::exchange_and_add(const DecodedInstruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& memory = instruction.operands[0];
  const Value by = state.read(instruction.operands[1], instruction.next());
  const Value old = state.read(memory, instruction.next());
  if (memory.type == ZYDIS_OPERAND_TYPE_MEMORY && values_.is_constant(by)) {
    const unsigned bytes = memory.size / 8U;
    changed(state.address_of(memory, instruction.next()), as_signed(by.offset, bytes), bytes);
  }
  write(instruction, instruction.operands[1], state, old);
}

void InstructionEffects::exchange(const DecodedInstruction& instruction, MachineState& state) {
  const auto& operands = instruction.operands;
  const Value first = state.read(operands[0], instruction.next());
  const Value second = state.read(operands[1], instruction.next());
  write(instruction, operands[0], state, second);
  write(instruction, operands[1], state, first);
}

void InstructionEffects::compare_and_exchange(const DecodedInstruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& memory = instruction.operands[0];
  const Value fresh = state.read(instruction.operands[1], instruction.next());
  const Value old = state.read(memory, instruction.next());
  write(instruction, memory, state, fresh);
  state.set_reg(0, old);
}

/// and, or, xor. A counter in a bit field is taken out by masks and put together again: the parts of one
/// loaded word keep being that word, with what was added to either.
void InstructionEffects::bit_field(const DecodedInstruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& target = instruction.operands[0];
  const auto number = MachineState::number_of(target.reg.value);
  if (target.type != ZYDIS_OPERAND_TYPE_REGISTER || !number) return;
  const Value a = state.reg(*number);
  const Value b = state.read(instruction.operands[1], instruction.next());
  const bool same_register = instruction.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                             instruction.operands[1].reg.value == target.reg.value;
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  Value result;
  if (same_register) {
    result = mnemonic == ZYDIS_MNEMONIC_XOR ? values_.constant(0) : a;
  } else if (values_.is_constant(a) && values_.is_constant(b)) {
    result = mnemonic == ZYDIS_MNEMONIC_OR ? values_.constant(a.offset | b.offset) : Value{};
  } else if (values_.is_constant(b)) {
    const bool all_ones = mnemonic == ZYDIS_MNEMONIC_OR && as_signed(b.offset, target.size / 8U) == -1;
    result = all_ones ? values_.constant(-1) : a;
  } else if (a.known() && b.known() && a.place == b.place) {
    result = {a.place, a.offset + b.offset, a.exact && b.exact};
  }
  state.set_reg(*number, result);
}

void InstructionEffects::execute(const DecodedInstruction& instruction, MachineState& state) {
  const auto& operands = instruction.operands;
  const Address next = instruction.next();
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      write(instruction, operands[0], state, state.read(operands[1], next));
      return;
    case ZYDIS_MNEMONIC_LEA:
      write(instruction, operands[0], state, state.address_of(operands[1], next));
      return;
    case ZYDIS_MNEMONIC_ADD:
      arithmetic(instruction, state, state.read(operands[1], next), 1);
      return;
    case ZYDIS_MNEMONIC_SUB:
      arithmetic(instruction, state, state.read(operands[1], next), -1);
      return;
    case ZYDIS_MNEMONIC_INC:
      arithmetic(instruction, state, values_.constant(1), 1);
      return;
    case ZYDIS_MNEMONIC_DEC:
      arithmetic(instruction, state, values_.constant(1), -1);
      return;
    case ZYDIS_MNEMONIC_NEG:
      negate(instruction, state);
      return;
    case ZYDIS_MNEMONIC_ADC:  // the carry is seldom set where a counter spans two words
    case ZYDIS_MNEMONIC_CDQE:
    case ZYDIS_MNEMONIC_CWDE:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
      return;
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
      bit_field(instruction, state);
      return;
    case ZYDIS_MNEMONIC_XADD:
      exchange_and_add(instruction, state);
      return;
    case ZYDIS_MNEMONIC_XCHG:
      exchange(instruction, state);
      return;
    case ZYDIS_MNEMONIC_CMPXCHG:
      compare_and_exchange(instruction, state);
      return;
    case ZYDIS_MNEMONIC_PUSH:
      state.push(state.read(operands[0], next));
      return;
    case ZYDIS_MNEMONIC_POP:
      write(instruction, operands[0], state, state.pop());
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      state.set_reg(4, state.reg(5));
      state.set_reg(5, state.pop());
      return;
    default:
      if (!vector(instruction, state)) forget_written(instruction, state);
  }
}

bool InstructionEffects::vector(const DecodedInstruction& instruction, MachineState& state) {
  const auto& operands = instruction.operands;
  switch (instruction.raw.mnemonic) {
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VXORPS: {
      const unsigned last =
          instruction.raw.operand_count_visible - 1U;  // the two that are combined come last
      const bool registers = operands[last].type == ZYDIS_OPERAND_TYPE_REGISTER;
      const bool zero = registers && operands[last].reg.value == operands[last - 1].reg.value;
      state.set_vector(operands[0].reg.value, zero ? values_.constant(0) : Value{});
      return true;
    }
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVDQU:
    case ZYDIS_MNEMONIC_VMOVDQA:
      vector_move(instruction, state);
      return true;
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
      clear_string(instruction, state);
      return true;
    default:
      return false;
  }
}

void InstructionEffects::vector_move(const DecodedInstruction& instruction, MachineState& state) {
  constexpr unsigned kWord = 8;  // bytes
  const ZydisDecodedOperand& target = instruction.operands[0];
  const ZydisDecodedOperand& source = instruction.operands[1];
  Value value;
  if (source.type == ZYDIS_OPERAND_TYPE_REGISTER) value = state.vector(source.reg.value);
  if (source.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    const Value at = state.address_of(source, instruction.next());
    if (at.known() && !values_.is_stack(at)) value = values_.content(at);
  }
  if (target.type != ZYDIS_OPERAND_TYPE_MEMORY) {
    forget_written(instruction, state);
    state.set_vector(target.reg.value, value);
    return;
  }
  const bool zero = values_.is_constant(value);
  Value address = state.address_of(target, instruction.next());
  Value from = values_.loaded_from(value);
  for (unsigned done = 0; done < target.size / 8U;
       done += kWord, address.offset += kWord, from.offset += kWord) {
    if (zero) store(address, value, kWord, state);
    if (from.known()) store(address, values_.content(from), kWord, state);
  }
}

void InstructionEffects::clear_string(const DecodedInstruction& instruction, MachineState& state) {
  const Value to = state.reg(7);
  const Value value = state.reg(0);
  const bool repeated = (instruction.raw.attributes & ZYDIS_ATTRIB_HAS_REP) != 0;
  if (repeated && to.known() && !values_.is_stack(to) && values_.is_constant(value) && value.offset == 0)
    facts_.stores.push_back({to, 0, 1, depth_, true});
  forget_written(instruction, state);
}

void InstructionEffects::forget_written(const DecodedInstruction& instruction, MachineState& state) {
  const bool conditional_move = instruction.raw.meta.category == ZYDIS_CATEGORY_CMOV;
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    const auto number = MachineState::number_of(operand.reg.value);
    // A conditional move may leave the old value, which is one of the two that it can have.
    if (number && !(conditional_move && state.reg(*number).known())) state.set_reg(*number, Value{});
    if (!number) state.set_vector(operand.reg.value, Value{});
  }
}

}  // namespace refhist
