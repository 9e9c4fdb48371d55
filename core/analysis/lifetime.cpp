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
  EventId last;
  for (const auto& [event, seen] : history.life_of(id)) {
    if (event >= moment) break;
    last = event;
    if (seen.role != Role::free && !seen.failed) count = seen.after;
  }
  const History::FoldedEvents* folded = history.folded_events(id);
  const bool between = folded != nullptr && last < folded->last && folded->first < moment;
  return between ? Count() : count;
}

}  // namespace refhist
