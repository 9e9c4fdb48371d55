// The instruction by which a get or put that was inlined changes the counter. Its memory operand says where
// the counter is, its kind by how much the count moves: no variable's location is needed.
#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "port/registers.h"
#include "x86/decoded_instruction.h"

namespace refhist {

struct CounterInstruction {
  enum class Kind : std::uint8_t {
    add,               ///< add, sub, inc, dec, xadd, with or without lock
    store,             ///< mov, xchg: the counter becomes `constant` or what the source register holds
    compare_exchange,  ///< the same, if the counter still is what rax holds
    last,  ///< no store: where the counter is `constant`, a put gives the object back without storing zero
  };
  static constexpr std::uint8_t kNoRegister = 0xff;

  Kind kind = Kind::add;
  bool negative = false;              ///< add: what is added is taken away
  std::uint8_t size = 0;              ///< of the counter, bytes
  std::uint8_t length = 0;            ///< of the instruction, bytes
  std::uint8_t source = kNoRegister;  ///< register whose value is added or stored, DWARF's number
  std::uint8_t base = kNoRegister;    ///< of the memory operand
  std::uint8_t index = kNoRegister;
  std::uint8_t scale = 0;
  std::uint8_t within = 0;  ///< where in the operand the counter lies, bytes: a store may be wider
  bool opaque = false;      ///< what is stored is not known (vector registers): the counter of an object born
  Address address = 0;      ///< in the file
  std::int64_t constant = 0;      ///< where there is no source register
  std::int64_t displacement = 0;  ///< relative to rip: the address in the file
  /// By how much the memory changes, where the instructions before it tell: what an xadd's register holds, or
  /// what was added to the value that is stored again.
  std::optional<std::int64_t> told_step;

  /// It changes the low part of a wider counter by one each time, as CPython's Py_INCREF does since 3.12.
  [[nodiscard]] bool steps_low_part(std::uint32_t counter_size) const;
  /// It changes a wider number whose low part the counter is by one each time: CPython's Py_INCREF
  /// before 3.12.
  [[nodiscard]] bool steps_wider(std::uint32_t counter_size) const;
  /// How many bytes from the operand on hold what it changes and the counter: at most eight.
  [[nodiscard]] std::uint8_t span(std::uint32_t counter_size) const;
  /// The part of the operand's bytes that is the counter.
  [[nodiscard]] std::uint64_t part(std::uint64_t operand, std::uint32_t counter_size) const;
  /// Nothing when the instruction changes no memory, or in a way that no counter is changed.
  static std::optional<CounterInstruction> of(const DecodedInstruction& instruction);
  /// Only where that operand is. Nothing for memory that no counter of an object is in.
  static std::optional<CounterInstruction> at_memory(const DecodedInstruction& instruction,
                                                     std::size_t operand = 0);
  /// DWARF's number of a general register or of its lower part; kNoRegister for others.
  static std::uint8_t register_number(ZydisRegister name);

  /// Where the counter lies when a thread stands at the instruction. `bias`: of the module.
  [[nodiscard]] Address counter(const Registers& registers, Address bias) const;
  /// What those bytes become, not sign-extended; nothing when a compare_exchange fails, or at a
  /// `last` that is none.
  [[nodiscard]] std::optional<std::uint64_t> after(const Registers& registers, std::uint64_t before) const;
  /// The same for what the source register holds, or for `constant`; of a compare_exchange, if it succeeds.
  [[nodiscard]] std::optional<std::uint64_t> after(std::uint64_t operand, std::uint64_t before) const;
  /// The count goes up (1) or down (-1) by one each time; 0: that is known only when it runs.
  [[nodiscard]] int step() const;
};

}  // namespace refhist
