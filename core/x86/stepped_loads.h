// Which stores of a function store what was loaded from such a place before, a few more or less.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "port/registers.h"
#include "x86/code_range.h"
#include "x86/decoded_instruction.h"

namespace refhist {

/// Each instruction is read once, on the way that comes there first, and whatever else is stored meanwhile: a
/// guess, for those who look again when the store runs. RegisterDistances says what is sure.
class SteppedLoads {
 public:
  /// By how much, by the addresses of the stores. Zero where the value goes back that another store has
  /// changed: a compiler that knows it needs no second load.
  static std::map<Address, int> in(const CodeRange& code);

 private:
  /// A value that lay at that displacement from some register, and what was added to it since.
  struct Loaded {
    Address by = 0;  ///< the load
    std::int64_t displacement = 0;
    unsigned bits = 0;
    std::int64_t added = 0;
  };

  using Slot = std::pair<ZydisRegister, std::int64_t>;  // a variable in the frame
  static std::optional<Slot> slot_of(const ZydisDecodedOperand& operand);

  void follow(const DecodedInstruction& instruction);
  /// What a variable in the frame is given.
  void follow_slot(const DecodedInstruction& instruction);
  [[nodiscard]] std::optional<Loaded> stored_by(const DecodedInstruction& store) const;
  /// What the instruction puts into its first operand.
  [[nodiscard]] std::optional<Loaded> put_by(const DecodedInstruction& instruction) const;
  [[nodiscard]] std::optional<Loaded> more_than(ZydisRegister reg, std::int64_t more) const;

  std::array<std::optional<Loaded>, kRegisterCount> loaded_{};
  std::map<Slot, Loaded> slots_;

  class Walk;
};

}  // namespace refhist
