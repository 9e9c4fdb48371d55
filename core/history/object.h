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

struct Object {
  Address address = 0;
  std::uint32_t generation = 1;  ///< 1 for the first object seen at this address
  FamilyId family;
  std::uint64_t size = 0;  ///< bytes; 0 when unknown
  ObjectState state = ObjectState::live;
  bool complete : 1 = true;    ///< false: it lived before it was first seen, or `note` says what was missed
  bool base_known : 1 = true;  ///< false: the ledger counts from an unknown base (counter unreadable)
  bool moved_unobserved : 1 = false;  ///< its count changed at least once without an event
  bool uncounted : 1 = false;    ///< its counter read 0 or less at birth, though it should have references
  bool freed : 1 = false;        ///< its memory was seen being given back
  bool superseded : 1 = false;   ///< another one of the family has been at its address since
  std::int64_t ledger = 0;       ///< references that the events imply
  std::int64_t before_seen = 0;  ///< references that existed when it was first seen (incomplete objects)
  EventId born;
  std::uint32_t birth_origin = kNoOrigin;  ///< of `born`: what births at one place have in common
  EventId died;
  EventId first_event;
  EventId last_event;
  std::uint32_t events = 0;  ///< how many
  ObjectId earlier;          ///< of the same family at the same address
  ObjectId beside;           ///< the newest of another family at the same address, and so on
};

}  // namespace refhist
