#include "analysis/lifetime.h"

namespace refhist {

Lifetime lifetime_of(const Object& object) {
  Lifetime life{object.first_event, EventId()};
  if (object.state == ObjectState::live) return life;
  life.end = object.died.valid() ? object.died : object.last_event;
  return life;
}

Count count_at(const History& history, ObjectId id, EventId moment) {
  Count count;
  for (const auto& [event, seen] : history.life_of(id)) {
    if (event >= moment) break;
    if (seen.role != Role::free && !seen.failed) count = seen.after;
  }
  return count;
}

}  // namespace refhist
