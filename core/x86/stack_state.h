// Which registers hold an address in the caller's or the own stack frame, while the code of a function is
// followed.
#pragma once

#include <array>
#include <cstdint>

#include "x86/decoded_instruction.h"

namespace refhist {

/// An address as distance from the value of rsp at the function's entry.
struct StackPointer {
  enum class Kind : std::uint8_t { none, exact, at_most };
  Kind kind = Kind::none;
  std::int32_t offset = 0;
  bool operator==(const StackPointer&) const = default;
};

class StackState {
 public:
  StackState() { reg(ZYDIS_REGISTER_RSP) = {StackPointer::Kind::exact, 0}; }

  [[nodiscard]] const StackPointer& rsp() const { return registers_[4]; }
  void set_rsp(const StackPointer& rsp) { registers_[4] = rsp; }
  /// What a memory operand of the instruction means, without its index; none when it is not on the stack.
  [[nodiscard]] StackPointer address_of(const ZydisDecodedOperand& operand) const;
  /// What the instruction does to registers. Control flow is the caller's.
  void execute(const DecodedInstruction& instruction);
  /// Keeps what both know; true when something was lost. Both have the same rsp.
  bool meet(const StackState& other);

 private:
  StackPointer& reg(ZydisRegister which);
  void move_rsp(std::int32_t by) { registers_[4].offset += by; }
  void add(const DecodedInstruction& instruction, int sign);
  void assign(const DecodedInstruction& instruction);
  void forget_written(const DecodedInstruction& instruction);
  void leave();

  std::array<StackPointer, 16> registers_{};
  StackPointer elsewhere_{};  // stands for a register that is not followed
};

}  // namespace refhist
