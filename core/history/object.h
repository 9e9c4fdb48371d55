// An object: one lifetime of an address.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "history/event.h"

namespace refhist {

enum class ObjectState : std::uint8_t {
  live,
  dead,     ///< the last reference was put, or its memory was given back
  unknown,  ///< its end was not seen: the address was used again, or the process ended unseen
};

/// A family's id in half the room.
class ObjectFamily {
 public:
  ObjectFamily() = default;
  /// Throws Error when there are more families than fit.
  ObjectFamily(FamilyId id);
  operator FamilyId() const { return valid() ? FamilyId(std::uint32_t{value_}) : FamilyId(); }
  [[nodiscard]] bool valid() const { return value_ != kNone; }
  [[nodiscard]] std::size_t index() const { return value_; }
  bool operator==(const ObjectFamily&) const = default;
  bool operator==(FamilyId other) const { return FamilyId(*this) == other; }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  std::uint16_t value_ = kNone;
};

struct Object {
  Address address = 0;
  std::uint64_t size = 0;        ///< bytes; 0 when unknown
  std::int64_t ledger = 0;       ///< references that the events imply
  std::uint32_t generation = 1;  ///< 1 for the first object seen at this address
  EventId born;
  std::uint32_t birth_origin = kNoOrigin;  ///< of `born`: what births at one place have in common
  EventId died;
  EventId first_event;
  EventId last_event;
  std::uint32_t events = 0;  ///< how many
  ObjectId earlier;          ///< of the same family at the same address
  ObjectId beside;           ///< the newest of another family at the same address, and so on
  ObjectFamily family;
  ObjectState state = ObjectState::live;
  bool complete : 1 = true;    ///< false: it lived before it was first seen, or its note says what was missed
  bool base_known : 1 = true;  ///< false: the ledger counts from an unknown base (counter unreadable)
  bool moved_unobserved : 1 = false;  ///< its count changed at least once without an event
  bool uncounted : 1 = false;   ///< its counter read 0 or less at birth, though it should have references
  bool revived : 1 = false;     ///< a reference was taken from zero, while its memory was kept
  bool freed : 1 = false;       ///< its memory was seen being given back
  bool superseded : 1 = false;  ///< another one of the family has been at its address since
};
static_assert(sizeof(Object) == 64, "there are millions of them");

}  // namespace refhist
