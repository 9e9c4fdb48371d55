// How far a register's value lies from the value that it was made from: by lea, mov and add, along every way
// through a function that leads to an instruction.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "port/registers.h"
#include "x86/clobbered_registers.h"
#include "x86/decoded_instruction.h"

namespace refhist {

class RegisterDistances {
 public:
  /// Bytes; nothing when the register was not made so, or not the same on every way.
  [[nodiscard]] std::optional<std::int64_t> of(std::uint8_t reg) const { return registers_[reg]; }
  /// What the register holds, where that is a constant: signed, as a counter is.
  [[nodiscard]] std::optional<std::int64_t> constant(std::uint8_t reg) const { return constants_[reg]; }
  /// How much more the register holds than the memory at base + displacement, from where it was loaded.
  [[nodiscard]] std::optional<std::int64_t> more_than(std::uint8_t reg, std::uint8_t base,
                                                      std::int64_t displacement) const;
  /// A value that was loaded, and what was added to it since.
  struct Loaded {
    std::uint8_t base = 0;
    std::int64_t displacement = 0;
    std::int64_t added = 0;
    bool operator==(const Loaded&) const = default;
  };
  /// What the register holds, if that was loaded through a register that has not changed since.
  [[nodiscard]] const std::optional<Loaded>& loaded(std::uint8_t reg) const { return loaded_[reg]; }
  /// How much more the register holds than rax.
  [[nodiscard]] std::optional<std::int64_t> more_than_rax(std::uint8_t reg) const { return above_rax_[reg]; }
  /// What holds behind the instruction. `clobbered`: by a call.
  void follow(const DecodedInstruction& instruction,
              ClobberedRegisters::Set clobbered = ClobberedRegisters::kByConvention);
  /// Keeps what holds in both. True when that is less than before.
  bool meet(const RegisterDistances& other);

 private:
  using Slot = std::pair<std::uint8_t, std::int64_t>;  // base register and displacement: a place in the frame

  static std::optional<Slot> slot(const ZydisDecodedOperand& operand);
  [[nodiscard]] std::optional<std::int64_t> of(const ZydisDecodedOperand& operand) const;
  void set(const ZydisDecodedOperand& operand, std::optional<std::int64_t> distance);

  /// A register whose value was made from another one's by adding a number, and both are what they were.
  struct Alias {
    std::uint8_t base = 0;
    std::int64_t above = 0;
    bool operator==(const Alias&) const = default;
  };
  [[nodiscard]] std::optional<Alias> alias_made_by(const DecodedInstruction& instruction) const;
  void forget_base(std::uint8_t reg);
  /// The same memory, told by the register that the others were made from.
  [[nodiscard]] Loaded loaded_from(std::uint8_t base, std::int64_t displacement) const;
  void follow_values(const DecodedInstruction& instruction);
  void forget_loaded(const ZydisDecodedOperand& stored);
  void follow_above_rax(const DecodedInstruction& instruction);
  [[nodiscard]] std::optional<Loaded> loaded_by(const DecodedInstruction& instruction) const;

  std::array<std::optional<std::int64_t>, kRegisterCount> registers_{};
  std::array<std::optional<std::int64_t>, kRegisterCount> constants_{};
  std::array<std::optional<Loaded>, kRegisterCount> loaded_{};
  std::array<std::optional<std::int64_t>, kRegisterCount> above_rax_{};
  std::array<std::optional<Alias>, kRegisterCount> aliases_{};
  std::map<Slot, std::int64_t> slots_;
};

}  // namespace refhist
