// Calls by which a get or put leaves it to a helper to change the counter, to which it passes where that is:
// atomic_inc(&conn->refs), in a library whose atomic operations are functions.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "families/family.h"
#include "sites/memory_changes.h"
#include "x86/value_trail.h"

namespace refhist {

class CountingCalls {
 public:
  CountingCalls(const Module& module, MemoryChanges& changes, const Family& family)
      : module_(module), changes_(changes), family_(family) {}

  /// What the call does to the memory that the first argument points at, as an instruction of that place:
  /// nothing when it does nothing, or not each time, or by a function of the family, which is an event
  /// itself.
  [[nodiscard]] std::optional<CounterInstruction> change_by(const DirectCall& call);
  /// What the linker binds the call's slot to, or that of the stub that it enters; empty: none.
  [[nodiscard]] const std::string& imported(Address target);

 private:
  /// Where the memory lies, its size and whether it changes by one up or down.
  struct Change {
    std::uint8_t base = 0;  ///< register, DWARF's number
    std::int64_t displacement = 0;
    std::uint8_t size = 0;
    bool down = false;
  };
  [[nodiscard]] std::optional<Change> change_of(Address function, unsigned depth);
  [[nodiscard]] bool is_probed(Address function) const;
  /// Of a function of another module, by its name.
  [[nodiscard]] std::optional<Change> known_change(const DirectCall& call);
  [[nodiscard]] std::optional<Change> change_at(const DecodedInstruction& instruction,
                                                const ValueTrail& trail, unsigned depth);
  [[nodiscard]] std::optional<Change> change_by(const DecodedInstruction& instruction);

  const Module& module_;
  MemoryChanges& changes_;
  const Family& family_;
  std::optional<std::unordered_map<Address, std::string>> imports_;  // read when the first one is asked for
};

}  // namespace refhist
