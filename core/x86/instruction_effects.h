// What one instruction does to registers, stack slots and counters. Control flow is the walker's.
#pragma once

#include <cstdint>
#include <optional>

#include "symbols/module.h"
#include "x86/function_facts.h"
#include "x86/instruction.h"
#include "x86/machine_state.h"

namespace refhist {

/// The value of its lowest `bytes` bytes, with their sign.
std::int64_t as_signed(std::int64_t value, unsigned bytes);

class InstructionEffects {
 public:
  /// Facts are noted as seen `depth` calls deep. `module`: whose constants in memory are to be known.
  InstructionEffects(ValueTable& values, FunctionFacts& facts, unsigned depth, const Module* module = nullptr)
      : values_(values), facts_(facts), depth_(depth), module_(module) {}

  void execute(const DecodedInstruction& instruction, MachineState& state);
  /// Notes a change of the counter at `cell`, if an argument leads there.
  void changed(const Value& cell, std::int64_t delta, unsigned bytes);

 private:
  void arithmetic(const DecodedInstruction& instruction, MachineState& state, const Value& by, int sign);
  void write(const DecodedInstruction& instruction, const ZydisDecodedOperand& operand, MachineState& state,
             const Value& value);
  void store(const Value& address, const Value& value, unsigned bytes, MachineState& state);
  void negate(const DecodedInstruction& instruction, MachineState& state);
  void exchange_and_add(const DecodedInstruction& instruction, MachineState& state);
  void exchange(const DecodedInstruction& instruction, MachineState& state);
  void compare_and_exchange(const DecodedInstruction& instruction, MachineState& state);
  void bit_field(const DecodedInstruction& instruction, MachineState& state);
  /// Compilers initialise several members at once. False for what is no such instruction.
  bool vector(const DecodedInstruction& instruction, MachineState& state);
  void vector_move(const DecodedInstruction& instruction, MachineState& state);
  void clear_string(const DecodedInstruction& instruction, MachineState& state);
  /// What lies at the value's place in memory that nobody writes.
  [[nodiscard]] std::optional<std::int64_t> constant_in_memory(const Value& value, unsigned bytes) const;
  static void forget_written(const DecodedInstruction& instruction, MachineState& state);

  ValueTable& values_;
  FunctionFacts& facts_;
  unsigned depth_;
  const Module* module_;
};

}  // namespace refhist
