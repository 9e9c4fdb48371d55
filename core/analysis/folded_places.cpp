#include "analysis/folded_places.h"

#include <fmt/core.h>

namespace refhist {

namespace {
std::string key_of(const Birthplace& place) { return fmt::format("{} {}", place.family.value, place.text()); }
}  // namespace

FoldedPlace& FoldedPlaces::of(const Birthplace& place) {
  const auto [entry, added] = by_text_.try_emplace(key_of(place), places_.size());
  if (added) {
    places_.emplace_back().place = place;
    places_.back().live.resize(moments.size());
  }
  return places_[entry->second];
}

const FoldedPlace* FoldedPlaces::find(const Birthplace& place) const {
  if (places_.empty()) return nullptr;
  const auto found = by_text_.find(key_of(place));
  return found == by_text_.end() ? nullptr : &places_[found->second];
}

std::uint32_t FoldedPlaces::owner(const FoldedOwner& owner) {
  std::string key = fmt::format("{} {} {}", owner.family.value, owner.put, owner.place);
  const auto [entry, added] =
      owner_ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(owners_.size()));
  if (added) owners_.push_back(owner);
  return entry->second;
}

void FoldedPlaces::thin(const std::function<bool(EventId)>& keep) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (keep(moments[i])) left.push_back(i);
  }
  const auto shorten = [&](auto& values) {
    for (std::size_t i = 0; i < left.size(); ++i) values[i] = values[left[i]];
    values.resize(left.size());
  };
  for (FoldedPlace& place : places_) shorten(place.live);
  shorten(moments);
}

std::uint64_t FoldedPlaces::objects() const {
  std::uint64_t objects = 0;
  for (const FoldedPlace& place : places_) objects += place.objects;
  return objects;
}

std::uint64_t FoldedPlaces::events() const {
  std::uint64_t events = 0;
  for (const FoldedPlace& place : places_) events += place.events;
  return events;
}

std::size_t FoldedPlaces::bytes() const {
  std::size_t bytes = owners_.capacity() * sizeof(FoldedOwner);
  for (const FoldedPlace& place : places_) {
    bytes += sizeof(FoldedPlace) + place.live.capacity() * sizeof(std::uint64_t);
    for (const FoldedKind& kind : place.kinds)
      bytes += sizeof(FoldedKind) + kind.counts.capacity() * sizeof(kind.counts.front());
  }
  return bytes;
}

}  // namespace refhist
