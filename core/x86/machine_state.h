// General registers and stack slots with the values that are known of them, and the reading and writing of
// instruction operands.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "x86/value_table.h"

namespace refhist {

/// Where a value is held.
struct ValuePlaces {
  std::vector<unsigned> registers;  ///< DWARF's numbers
  std::vector<std::int64_t> stack;  ///< from where the stack pointer was when the function was entered
  [[nodiscard]] bool empty() const { return registers.empty() && stack.empty(); }
};

class MachineState {
 public:
  explicit MachineState(ValueTable& values);

  [[nodiscard]] Value reg(unsigned number) const { return registers_[number]; }
  void set_reg(unsigned number, const Value& value) { registers_[number] = value; }

  /// 0..15 as instructions number them (rax rcx rdx rbx rsp rbp rsi rdi r8…); nothing for other registers.
  static std::optional<unsigned> number_of(ZydisRegister name);

  /// Address that a memory operand names. `next` is the address of the next instruction.
  [[nodiscard]] Value address_of(const ZydisDecodedOperand& operand, Address next) const;
  Value read(const ZydisDecodedOperand& operand, Address next);
  Value load(const Value& address);
  void store_to_stack(const Value& address, const Value& value);

  /// A register or stack slot has what is reached from there, at any offset.
  [[nodiscard]] bool holds(const PlaceId& place) const;

  [[nodiscard]] ValuePlaces places_of(const Value& value) const;

  /// Of a vector register: zero in all its words, or what was loaded as a whole from an address; else
  /// unknown.
  [[nodiscard]] Value vector(ZydisRegister name) const;
  void set_vector(ZydisRegister name, const Value& value);

  void push(const Value& value);
  Value pop();
  /// A call has returned: what the callee may have changed is unknown.
  void forget_caller_saved();
  void return_from_call(const Value& result);

  /// Calls on this path, as indexes into the facts, that may have ended the life of what they were given.
  [[nodiscard]] const std::vector<std::size_t>& handed_over() const { return handed_over_; }
  void hand_over(std::size_t call) { handed_over_.push_back(call); }

  bool operator==(const MachineState&) const = default;

 private:
  ValueTable* values_;
  std::array<Value, 16> registers_;
  std::map<std::int64_t, Value> slots_;
  std::map<unsigned, Value> vectors_;  // those that are known
  std::vector<std::size_t> handed_over_;
};

/// `a + b` where that can be told.
Value sum(const ValueTable& values, const Value& a, const Value& b);

}  // namespace refhist
