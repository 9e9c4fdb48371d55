// Finds the instructions by which an inlined copy changes the counter of its object.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "families/family.h"
#include "sites/counting_calls.h"
#include "sites/memory_changes.h"

namespace refhist {

/// What the displacement of a memory operand says: a copy may touch other memory too, and of that it must be
/// told.
///
/// The object's address is mostly in a register, and then the operand is that register plus the member's
/// offset, or a register into which that sum was put before. A variable is known by its symbol. An object
/// that lies inside of another one is at some other distance: it is the counter only where debug information
/// tells where the object is at that instruction. A copy that changes no memory may call what does.
class CounterFinder {
 public:
  CounterFinder(const Module& module, MemoryChanges& changes, CountingCalls& helpers,
                const MemberPlace& counter, const Family& family)
      : module_(module), changes_(changes), helpers_(helpers), counter_(counter), family_(family) {}

  /// Empty when none does, or when nothing tells that the memory is the counter. By address. `object`: which
  /// parameter of the function is the object. `inner`: ranges in the copy that are not looked at.
  std::vector<CounterInstruction> find(const InlinedCopy& copy, Role role, const ObjectSource& object,
                                       const std::vector<FileRange>& inner);
  /// The change, with where in its operand the counter lies, when its displacement alone says that this is
  /// the counter.
  [[nodiscard]] std::optional<CounterInstruction> by_displacement(const MemoryChange& change,
                                                                  Role role) const;

 private:
  void add_calls(const InlinedCopy& copy, Role role, const std::vector<ParameterValue>& object,
                 std::map<Address, CounterInstruction>& found);
  void add_tests(const InlinedCopy& copy, const std::map<Address, MemoryChange>& tests,
                 std::map<Address, CounterInstruction>& found) const;
  /// By either of the next two.
  [[nodiscard]] std::optional<std::uint8_t> counter_in(const MemoryChange& change,
                                                       const std::vector<ParameterValue>& object) const;
  /// Where in the operand the counter lies; nothing when it is not in there, or not known to be.
  [[nodiscard]] std::optional<std::uint8_t> counter_in(const MemoryChange& change) const;
  /// The same where the object is what debug information says.
  [[nodiscard]] std::optional<std::uint8_t> counter_in(const CounterInstruction& instruction,
                                                       const std::optional<std::int64_t>& distance,
                                                       const std::vector<ParameterValue>& object) const;
  /// The same where debug information says that the object's address is in a word of the frame, and the base
  /// register was loaded from there.
  [[nodiscard]] std::optional<std::uint8_t> counter_behind_slot(const MemoryChange& change,
                                                                const ParameterValue& value) const;
  /// How far the value lies from what the operand's base register holds; nothing when that is not told.
  [[nodiscard]] std::optional<std::int64_t> from_base(const CounterInstruction& instruction,
                                                      const ParameterValue& value) const;
  /// The counter lies at this distance from where the operand begins.
  [[nodiscard]] std::optional<std::uint8_t> at_distance(const CounterInstruction& instruction,
                                                        std::int64_t distance) const;
  /// It calls, or goes on at, a put of the family, which changes the counter itself.
  [[nodiscard]] bool leads_to_put(const DecodedInstruction& instruction) const;
  /// It is all that such a function does to its counter.
  [[nodiscard]] bool does_it_alone(const CounterInstruction& change, Role role) const;
  /// It does what one in another part of the copy does, which is known to change the counter.
  [[nodiscard]] static bool is_like(const CounterInstruction& change, const InlinedCopy& copy,
                                    const std::map<Address, CounterInstruction>& told);
  /// A copy of a get is that and nothing else. Two gets in a row may have become one that stores a number.
  [[nodiscard]] bool is_all_of_get(const CounterInstruction& change, const FileRange& copy, Role role) const;
  /// The instruction may change a counter as one of that role does.
  [[nodiscard]] bool fits(const CounterInstruction& change, Role role) const;
  [[nodiscard]] bool is_variable(Address counter) const;

  const Module& module_;
  MemoryChanges& changes_;
  CountingCalls& helpers_;
  const MemberPlace& counter_;
  const Family& family_;
};

}  // namespace refhist
