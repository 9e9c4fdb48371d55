// Calls by which a get or put leaves it to a helper to change the counter, to which it passes where that is:
// atomic_inc(&conn->refs), in a library whose atomic operations are functions.
#pragma once

#include <map>
#include <optional>

#include "sites/memory_changes.h"
#include "x86/value_trail.h"

namespace refhist {

class CountingCalls {
 public:
  CountingCalls(const Module& module, MemoryChanges& changes) : module_(module), changes_(changes) {}

  /// What the call does to the memory that the first argument points at, as an instruction of that place:
  /// nothing when it does nothing, or not each time.
  [[nodiscard]] std::optional<CounterInstruction> change_by(const DirectCall& call);

 private:
  /// Where the memory lies, its size and whether it changes by one up or down.
  struct Change {
    std::uint8_t base = 0;  ///< register, DWARF's number
    std::int64_t displacement = 0;
    std::uint8_t size = 0;
    bool down = false;
  };
  [[nodiscard]] std::optional<Change> change_of(Address function, unsigned depth);
  [[nodiscard]] std::optional<Change> read(Address function, unsigned depth);
  [[nodiscard]] std::optional<Change> change_at(const DecodedInstruction& instruction,
                                                const ValueTrail& trail, unsigned depth);
  [[nodiscard]] std::optional<Change> change_by(const DecodedInstruction& instruction);

  const Module& module_;
  MemoryChanges& changes_;
  std::map<Address, std::optional<Change>> known_;
};

}  // namespace refhist
