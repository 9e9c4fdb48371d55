// Finds the instructions by which an inlined copy changes the counter of its object.
#pragma once

#include <optional>
#include <vector>

#include "probes/family.h"
#include "sites/memory_changes.h"

namespace refhist {

/// What the displacement of a memory operand says: a copy may touch other memory too, and of that it must be
/// told.
///
/// The object's address is mostly in a register, and then the operand is that register plus the member's
/// offset, or a register into which that sum was put before. A variable is known by its symbol. An object
/// that lies inside of another one is at some other distance: that is never taken for the counter.
class CounterFinder {
 public:
  CounterFinder(const Module& module, MemoryChanges& changes, const MemberPlace& counter)
      : module_(module), changes_(changes), counter_(counter) {}

  /// Empty when none does, or when nothing tells that the memory is the counter. By address.
  std::vector<CounterInstruction> find(const InlinedCopy& copy, Role role);

 private:
  /// Where in the operand the counter lies; nothing when it is not in there, or not known to be.
  [[nodiscard]] std::optional<std::uint8_t> counter_in(const MemoryChange& change) const;
  [[nodiscard]] bool is_variable(Address counter) const;

  const Module& module_;
  MemoryChanges& changes_;
  const MemberPlace& counter_;
};

}  // namespace refhist
