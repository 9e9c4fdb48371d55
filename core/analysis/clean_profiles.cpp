#include "analysis/clean_profiles.h"

#include <map>

namespace refhist {

std::uint32_t CleanProfiles::owner_of(std::uint32_t origin, const Event& event) {
  if (origin >= by_origin_.size()) by_origin_.resize(history_.log().origins().size(), kUnasked);
  std::uint32_t& number = by_origin_[origin];
  if (number != kUnasked) return number;
  if (!acquires(event) && !gives_back(event)) return number = kNoOwner;
  const Owner& owner = owners_.of(event);
  const FamilyId family = history_.object(event.object).family;
  return number = folded_.owner(FoldedOwner{family, gives_back(event), owner.place, owner.frame});
}

void CleanProfiles::sum_up() {
  history_.log().for_each(EventId(0U), [&](const EventLog::Entry& entry) {
    if (history_.objects().fold(entry.event.object) != Fold::gone) return;
    const std::uint32_t owner = owner_of(entry.origin, entry.event);
    if (owner != kNoOwner) sums_[entry.event.object] += owner_sum(owner);
  });
  for (const auto& [id, folded] : history_.all_folded_events()) {
    if (history_.objects().fold(id) != Fold::gone) continue;
    const auto life = history_.folded_life_of(id);
    for (std::size_t i = 0; i < life.size(); ++i) {
      const std::uint32_t owner = owner_of(folded.by_origin[i].first, life[i].first);
      if (owner != kNoOwner) sums_[id] += life[i].second * owner_sum(owner);
    }
  }
}

FoldedKind CleanProfiles::kind_of(ObjectId id) {
  std::map<std::uint32_t, std::uint32_t> counts;
  const auto count = [&](std::uint32_t origin, const Event& event, std::uint32_t times) {
    const std::uint32_t owner = owner_of(origin, event);
    if (owner != kNoOwner) counts[owner] += times;
  };
  for (const auto& [event, what] : history_.life_of(id)) count(history_.log().origin_of(event), what, 1);
  const History::FoldedEvents* folded = history_.folded_events(id);
  const auto life = history_.folded_life_of(id);
  for (std::size_t i = 0; i < life.size(); ++i)
    count(folded->by_origin[i].first, life[i].first, life[i].second);
  return FoldedKind{{counts.begin(), counts.end()}, 0};
}

void CleanProfiles::add(ObjectId id, const Object& object, FoldedPlace& place) {
  ++place.objects;
  place.bytes += object.size;
  place.events += object.events;
  auto& known = kinds_[&place];
  auto found = known.find(sums_[id]);
  if (found == known.end()) {
    if (place.kinds.size() == kMostKinds) {
      ++place.other_kinds;
      return;
    }
    found = known.emplace(sums_[id], place.kinds.size()).first;
    place.kinds.push_back(kind_of(id));
  }
  ++place.kinds[found->second].objects;
}

void CleanProfiles::know_kinds() {
  for (const FoldedPlace& place : folded_.places()) {
    auto& known = kinds_[&place];
    for (std::size_t i = 0; i < place.kinds.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& [owner, times] : place.kinds[i].counts) sum += times * owner_sum(owner);
      known.emplace(sum, i);
    }
  }
}

void CleanProfiles::add_to(Birthplaces& births) {
  sum_up();
  // First all places: adding one moves the others.
  std::unordered_map<const Birthplace*, std::size_t> numbers;
  for (const auto& [id, object] : history_.objects()) {
    if (history_.objects().fold(id) != Fold::gone) continue;
    const Birthplace& place = births.of(object);
    if (numbers.contains(&place)) continue;
    FoldedPlace& folded = folded_.of(place);
    numbers[&place] = static_cast<std::size_t>(&folded - folded_.places().data());
  }
  know_kinds();
  for (const auto& [id, object] : history_.objects()) {
    if (history_.objects().fold(id) == Fold::gone)
      add(id, object, folded_.places()[numbers.at(&births.of(object))]);
  }
}

}  // namespace refhist
