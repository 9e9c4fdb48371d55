#include "x86/machine_state.h"

#include <algorithm>

#include "x86/decoded_instruction.h"
#include "x86/memory_copy.h"

namespace refhist {

MachineState::MachineState(ValueTable& values) : values_(&values) {
  static constexpr std::array<unsigned, ValueTable::kArguments> kOrder{7, 6, 2, 1, 8, 9};
  for (unsigned i = 0; i < kOrder.size(); ++i) registers_[kOrder[i]] = values.argument(i + 1);
  registers_[kEncodedRsp] = values.stack();
}

std::optional<unsigned> MachineState::number_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return std::nullopt;
  return static_cast<unsigned>(ZydisRegisterGetId(whole));
}

Value MachineState::vector(ZydisRegister name) const {
  const auto number = vector_number(name);
  const auto known = number ? vectors_.find(*number) : vectors_.end();
  return known == vectors_.end() ? Value{} : known->second;
}

void MachineState::set_vector(ZydisRegister name, const Value& value) {
  const auto number = vector_number(name);
  if (number && value.known()) {
    vectors_[*number] = value;
  } else if (number) {
    vectors_.erase(*number);
  }
}

Value MachineState::address_of(const ZydisDecodedOperand& operand, Address next) const {
  const auto& memory = operand.mem;
  if (memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS) return {};
  const std::int64_t displacement = memory.disp.has_displacement ? memory.disp.value : 0;
  if (memory.base == ZYDIS_REGISTER_RIP) {
    return values_->constant(static_cast<std::int64_t>(next) + displacement);
  }
  const auto base = number_of(memory.base);
  const auto index = number_of(memory.index);
  Value value = base ? registers_[*base] : values_->constant(0);
  if (index) {
    const Value by = registers_[*index];
    if (values_->is_constant(by)) {
      if (value.known()) value.offset += by.offset * memory.scale;
    } else if (memory.scale == 1) {
      value = sum(*values_, value, by);
    } else if (value.known()) {
      value.offset += by.offset * memory.scale;
      value.exact = false;
    }
  }
  if (value.known()) value.offset += displacement;
  return value;
}

Value MachineState::read(const ZydisDecodedOperand& operand, Address next) {
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: {
      const auto number = number_of(operand.reg.value);
      return number ? registers_[*number] : Value{};
    }
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: {
      std::int64_t value = operand.imm.value.s;
      if (operand.size == 32) value = static_cast<std::int32_t>(value);
      return values_->constant(value);
    }
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return load(address_of(operand, next));
    default:
      return {};
  }
}

Value MachineState::load(const Value& address) {
  if (!address.known()) return {};
  if (values_->is_stack(address)) {
    const auto slot = slots_.find(address.offset);
    return address.exact && slot != slots_.end() ? slot->second : Value{};
  }
  return values_->content(address);
}

void MachineState::store_to_stack(const Value& address, const Value& value) {
  if (address.exact) slots_[address.offset] = value;
}

bool MachineState::holds(const PlaceId& place) const {
  const auto is_it = [&](const Value& value) { return value.known() && value.place == place; };
  return std::any_of(registers_.begin(), registers_.end(), is_it) ||
         std::any_of(slots_.begin(), slots_.end(), [&](const auto& slot) { return is_it(slot.second); });
}

ValuePlaces MachineState::places_of(const Value& value) const {
  ValuePlaces places;
  if (!value.known()) return places;
  for (unsigned i = 0; i < registers_.size(); ++i) {
    const auto number = dwarf_number(static_cast<ZydisRegister>(ZYDIS_REGISTER_RAX + i));
    if (registers_[i] == value && number) places.registers.push_back(*number);
  }
  for (const auto& [offset, held] : slots_) {
    if (held == value) places.stack.push_back(offset);
  }
  return places;
}

void MachineState::push(const Value& value) {
  registers_[kEncodedRsp].offset -= 8;
  if (values_->is_stack(registers_[kEncodedRsp])) store_to_stack(registers_[kEncodedRsp], value);
}

Value MachineState::pop() {
  const Value value = load(registers_[kEncodedRsp]);
  registers_[kEncodedRsp].offset += 8;
  return value;
}

void MachineState::forget_caller_saved() {
  for (const unsigned number : {0U, 1U, 2U, 6U, 7U, 8U, 9U, 10U, 11U}) registers_[number] = Value{};
  vectors_.clear();
}

void MachineState::return_from_call(const Value& result) {
  forget_caller_saved();
  registers_[0] = result;
}

Value sum(const ValueTable& values, const Value& a, const Value& b) {
  if (!a.known() && !b.known()) return {};
  if (values.is_constant(b) && a.known()) return {a.place, a.offset + b.offset, a.exact};
  if (values.is_constant(a) && b.known()) return {b.place, b.offset + a.offset, b.exact};
  // A pointer and an index: the pointer is the one that an argument leads to.
  const Value& pointer = values.root_argument(a) != 0 || !b.known() ? a : b;
  return {pointer.place, pointer.offset, false};
}

}  // namespace refhist
