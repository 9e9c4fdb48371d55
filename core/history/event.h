// One event: one execution of a probe, or a change of a counter that no probe saw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/types.h"
#include "families/family.h"

namespace refhist {

/// A count that may be unknown.
using Count = std::optional<std::int64_t>;
/// "?" when it is unknown.
inline std::string shown_count(const Count& count) { return count ? std::to_string(*count) : "?"; }

/// How the count after an event is known.
enum class CountSource : std::uint8_t { unknown, derived, read };

struct Event {
  std::uint64_t time_ns = 0;  ///< since the history began
  ObjectId object;
  SiteId site;
  ThreadIndex thread;
  StackId stack;  ///< invalid when stacks were not recorded
  Role role = Role::get;
  CountSource after_source = CountSource::unknown;
  bool unobserved = false;    ///< no call: the counter was found changed; before/after tell from what to what
  bool failed = false;        ///< a try_get that got nothing
  bool during_death = false;  ///< inside the object's own last put
  Count before;
  Count after;
  bool operator==(const Event&) const = default;
};

/// An unobserved change to zero, and then the object's memory goes: whoever freed it has written the last put
/// out by hand. Nothing is left open.
inline bool is_put_by_hand(const Event& change, const Event& next) {
  return change.unobserved && change.after == 0 &&
         (next.role == Role::free || next.role == Role::pool_destroy);
}

/// What events have in common.
struct EventOrigin {
  SiteId site;
  ThreadIndex thread;
  StackId stack;
  std::uint32_t kind = 0;  ///< role, flags, step of the count: see docs/file-format.md
  bool operator==(const EventOrigin&) const = default;
};
/// In place of the index of an origin: none.
inline constexpr std::uint32_t kNoOrigin = 0xffffffffU;

}  // namespace refhist
