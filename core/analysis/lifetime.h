// When an object lived, in events and in time.
#pragma once

#include "history/history.h"

namespace refhist {

struct Lifetime {
  EventId first;  ///< its birth, or the first that was seen of it
  EventId end;    ///< its last event, when it does not live any more; else invalid

  /// It lived when all events before this one had happened, and no others.
  [[nodiscard]] bool covers(EventId moment) const {
    return first < moment && (!end.valid() || end >= moment);
  }
};

Lifetime lifetime_of(const Object& object);

/// References that the object had when all events before this one had happened; nothing when that is not
/// known.
Count count_at(const History& history, ObjectId id, EventId moment);

}  // namespace refhist
