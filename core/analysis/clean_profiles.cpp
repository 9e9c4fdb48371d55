#include "analysis/clean_profiles.h"

#include <map>

namespace refhist {

void CleanProfiles::sum_up() {
  history_.log().for_each(EventId(0U), [&](const EventLog::Entry& entry) {
    if (history_.objects().fold(entry.event.object) == Fold::gone)
      sums_[entry.event.object] += owner_sums_.of(entry.origin, entry.event);
  });
  for (const auto& [id, folded] : history_.all_folded_events()) {
    if (history_.objects().fold(id) != Fold::gone) continue;
    for (const auto& [event, times] : history_.folded_life_of(id)) sums_[id] += times * owner_sums_.of(event);
  }
}

FoldedKind CleanProfiles::kind_of(ObjectId id) {
  const FamilyId family = history_.object(id).family;
  std::map<std::uint32_t, std::uint32_t> counts;
  const auto count = [&](const Event& event, std::uint32_t times) {
    if (!acquires(event) && !gives_back(event)) return;
    const Owner& owner = owners_.of(event);
    counts[folded_.owner(FoldedOwner{family, gives_back(event), owner.place, owner.frame})] += times;
  };
  for (const auto& [event, times] : history_.kinds_of(id)) count(event, times);
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
      for (const auto& [number, times] : place.kinds[i].counts) {
        const FoldedOwner& owner = folded_.owners()[number];
        sum += times * OwnerSums::of(owner.put, owner.place);
      }
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
