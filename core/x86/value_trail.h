// Where the value that a register holds at one instruction goes in those behind it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "port/registers.h"
#include "x86/decoded_instruction.h"

namespace refhist {

class ValueTrail {
 public:
  /// `reg`: DWARF's number of the register that holds the value.
  explicit ValueTrail(std::uint8_t reg) { above_.at(reg) = 0; }

  /// What holds behind the instruction, where control goes on at the next one.
  void follow(const DecodedInstruction& instruction);
  /// How much more than the value the register holds; nothing when it holds something else.
  [[nodiscard]] std::optional<std::int64_t> above(unsigned reg) const { return above_.at(reg); }

 private:
  [[nodiscard]] std::optional<std::int64_t> put_by(const DecodedInstruction& instruction) const;

  std::array<std::optional<std::int64_t>, kRegisterCount> above_{};
};

}  // namespace refhist
