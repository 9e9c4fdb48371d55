// A family that is being tracked, with what was found out about it in this process.
#pragma once

#include <optional>
#include <string>

#include "families/family.h"
#include "history/ledger.h"
#include "sites/born_count.h"
#include "sites/counter_check.h"
#include "symbols/module.h"

namespace refhist {

/// Which way of arming a family's sites is wanted.
enum class Backend : std::uint8_t { automatic, breakpoint };

/// Whether a family came with a history file that was opened.
enum class FromFile : std::uint8_t {
  no,
  tracked_there,
  untracked_there,
  closed,  ///< the file's history has made room for another
};

struct TrackedFamily {
  Family family;
  std::optional<MemberPlace> counter;  ///< where the counter is; nothing when it cannot be read
  std::string counter_note;            ///< why it cannot be read, or is read elsewhere than the family says
  std::string part_note;  ///< which part of the type that the family names its objects are; empty: that type
  std::optional<CounterByCode> counter_by_code;  ///< where the code has it, once that was looked at
  std::optional<BornByCode> born_by_code;        ///< what a new object has, of a family that does not say it
  std::string births_note;        ///< which births are unseen and why; empty when none is known to be
  std::uint64_t object_size = 0;  ///< bytes; 0 unknown
  Backend backend = Backend::automatic;
  FamilyTraits traits;
  bool from_start = false;            ///< followed since the process's first instruction
  bool by_default = false;            ///< an allocator that nobody named: in the agent or not at all
  bool named = true;                  ///< false: one of those of `track auto`, which may not be there at all
  bool untracked = false;             ///< by the user: nothing of it is armed, its history stays
  std::uint64_t unborn_calls = 0;     ///< on objects never seen whose counter reads 0 or less: static ones
  std::uint64_t null_puts = 0;        ///< of NULL, or of what is no pointer: no events
  FromFile from_file = FromFile::no;  ///< if any, it is untracked: nothing of it runs here

  void close_file() {
    if (from_file != FromFile::no) from_file = FromFile::closed;
  }
  /// What is on the screen is its history: recorded here, or in the file.
  [[nodiscard]] bool shown_as_tracked() const { return !untracked || from_file == FromFile::tracked_there; }
};

}  // namespace refhist
