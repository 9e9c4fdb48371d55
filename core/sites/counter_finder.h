// Finds the instructions by which an inlined copy changes the counter of its object.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "probes/family.h"
#include "sites/counter_instruction.h"
#include "symbols/module.h"

namespace refhist {

/// What the displacement of a memory operand says: a copy may touch other memory too, and of that it must be
/// told.
///
/// The object's address is mostly in a register, and then the operand is that register plus the member's
/// offset, or a register into which that sum was put before. A variable is known by its symbol. An object
/// that lies inside of another one is at some other distance: that is never taken for the counter.
class CounterFinder {
 public:
  CounterFinder(const Module& module, const MemberPlace& counter, Role role)
      : module_(module), counter_(counter), role_(role) {}

  /// Empty when none does, or when nothing tells that the memory is the counter.
  std::vector<CounterInstruction> find(const InlinedCopy& copy);

 private:
  void walk(const FileRange& function, const InlinedCopy& copy);
  /// Keeps the distances up to date.
  void follow(const DecodedInstruction& instruction);
  void set(const ZydisDecodedOperand& operand, std::optional<std::int64_t> distance);
  [[nodiscard]] std::optional<std::int64_t> distance_of(const ZydisDecodedOperand& operand) const;
  void consider(const DecodedInstruction& instruction);
  [[nodiscard]] bool is_counter(const CounterInstruction& change) const;
  [[nodiscard]] bool is_variable(Address counter) const;

  const Module& module_;
  MemberPlace counter_;
  Role role_;
  /// Of each register's value, and of what lies in the frame, from the value that it was made from by lea,
  /// mov and add.
  std::array<std::optional<std::int64_t>, kRegisterCount> distances_{};
  std::map<std::pair<std::uint8_t, std::int64_t>, std::int64_t> slots_;  // by base register and displacement
  std::vector<CounterInstruction> found_;
};

}  // namespace refhist
