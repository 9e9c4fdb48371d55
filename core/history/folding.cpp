// History: objects and events that are left out, so that memory follows what lives and not what happened.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "history/history.h"

namespace refhist {

std::size_t History::FoldedEvents::count() const {
  std::size_t count = 0;
  for (const auto& [origin, times] : by_origin) count += times;
  return count;
}

const History::FoldedEvents* History::folded_events(ObjectId id) const {
  if (folded_.empty()) return nullptr;
  const auto found = folded_.find(id);
  return found == folded_.end() ? nullptr : &found->second;
}

std::vector<std::pair<Event, std::uint32_t>> History::folded_life_of(ObjectId id) const {
  const FoldedEvents* folded = folded_events(id);
  return folded == nullptr ? std::vector<std::pair<Event, std::uint32_t>>() : kinds_of(*folded, id);
}

std::vector<std::pair<Event, std::uint32_t>> History::kinds_of(const FoldedEvents& counted,
                                                               ObjectId id) const {
  std::vector<std::pair<Event, std::uint32_t>> kinds;
  for (const auto& [origin, times] : counted.by_origin) {
    Event event = event_of(events_.origins()[origin]);
    event.object = id;
    kinds.emplace_back(event, times);
  }
  return kinds;
}

std::vector<std::pair<Event, std::uint32_t>> History::kinds_of(ObjectId id) const {
  std::vector<std::pair<Event, std::uint32_t>> kinds = kinds_of(some_events_of(id, 0).others, id);
  for (auto& folded : folded_life_of(id)) kinds.push_back(std::move(folded));
  return kinds;
}

History::SomeEvents History::some_events_of(ObjectId id, std::size_t most, EventId until) const {
  SomeEvents some;
  std::map<std::uint32_t, std::uint32_t> by_origin;
  std::size_t left = listed_events(id);  // that are still to be told, the current one among them
  std::size_t all = 0;                   // before `until`
  read_back(id, [&](const EventLog::Entry& entry) {
    const std::size_t index = --left;
    if (entry.id >= until) return;
    all = std::max(all, index + 1);
    const bool listed = all <= most || index < most / 2 || index >= all - (most - most / 2);
    if (listed) {
      some.listed.push_back(entry.id);
      return;
    }
    some.others.first = entry.id;
    if (!some.others.last.valid()) some.others.last = entry.id;
    ++by_origin[entry.origin];
  });
  std::reverse(some.listed.begin(), some.listed.end());
  some.others.by_origin.assign(by_origin.begin(), by_origin.end());
  return some;
}

void History::count_folded(const EventLog::Entry& entry) {
  FoldedEvents& folded = folded_[entry.event.object];
  if (!folded.first.valid()) folded.first = entry.id;
  folded.last = entry.id;
  const auto same = std::find_if(folded.by_origin.begin(), folded.by_origin.end(),
                                 [&](const auto& counted) { return counted.first == entry.origin; });
  if (same == folded.by_origin.end()) {
    folded.by_origin.emplace_back(entry.origin, 1);
  } else {
    ++same->second;
  }
}

bool History::keeps(EventLog::Entry& entry, EventId recent, std::unordered_map<ObjectId, EventId>& latest) {
  const Event& event = entry.event;
  const Fold how = objects_.fold(event.object);
  if (how != Fold::early) return how == Fold::nothing;
  const Object& object = objects_[event.object];
  // What is not one reference cannot be counted with others.
  const bool by_more = event.before && event.after && !EventKind::has_step(event_kind(event));
  const bool landmark = by_more || entry.id == object.first_event || entry.id == object.born ||
                        entry.id == object.died || entry.id == object.last_event || event.unobserved ||
                        event.role == Role::free;
  if (entry.id < recent && !landmark) {
    count_folded(entry);
    return false;
  }
  EventId& before = latest[event.object];
  entry.previous = before;
  before = entry.id;
  return true;
}

ObjectId History::not_gone(ObjectId id) const {
  while (id.valid() && objects_.fold(id) == Fold::gone) id = objects_[id].earlier;
  return id;
}

void History::leave_address(ObjectId id) {
  const Object& gone = objects_[id];
  recent_at(gone.address) = {};
  const auto entry = newest_.find(gone.address);
  ObjectId* place = &entry->second;
  while (*place != id) place = &objects_[*place].beside;
  const ObjectId earlier = not_gone(gone.earlier);
  *place = earlier.valid() ? earlier : gone.beside;
  if (earlier.valid()) {
    objects_[earlier].beside = gone.beside;
    objects_[earlier].superseded = false;
  }
  if (!entry->second.valid()) newest_.erase(entry);
}

void History::fold(EventId recent) {
  std::unordered_map<ObjectId, EventId> latest;
  events_.retain([&](EventLog::Entry& entry) { return keeps(entry, recent, latest); });
  for (const auto& [id, object] : objects_) {
    if (objects_.fold(id) == Fold::gone) {
      notes_.erase(id);
      before_seen_.erase(id);
      folded_.erase(id);
      if (!object.superseded) leave_address(id);
    } else if (object.earlier.valid()) {
      objects_[id].earlier = not_gone(object.earlier);
    }
  }
  objects_.remove_gone();
}

void History::restore_object(ObjectId id, const Object& object) {
  if (!id.valid()) fail("its number is impossible");
  objects_.skip_to(id);
  add_object(object);
  Object& added = objects_[id];
  if (object.generation < added.generation) fail("its objects are not in order");
  added.generation = object.generation;
}

void History::objects_end(std::size_t ids) {
  objects_.skip_to(ObjectId(ids));
  objects_.trim();
}

}  // namespace refhist
