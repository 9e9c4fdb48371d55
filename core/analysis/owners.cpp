#include "analysis/owners.h"

#include <functional>

namespace refhist {

bool acquires(const Event& event) {
  return !event.failed && !event.unobserved &&
         (event.role == Role::init || event.role == Role::get || event.role == Role::try_get);
}

bool gives_back(const Event& event) { return !event.unobserved && event.role == Role::put; }

const Owner& Owners::of(const Event& event) {
  const auto [entry, added] = known_.try_emplace(std::uint64_t{event.site.value} << 32U | event.stack.value);
  Owner& owner = entry->second;
  if (!added) return owner;
  owner.frame = namer_.owner(event);
  owner.place = owner.frame.function.empty() ? FrameNamer::text(owner.frame) : owner.frame.function;
  return owner;
}

std::uint64_t OwnerSums::of(bool put, const std::string& place) {
  std::uint64_t x = std::hash<std::string>{}(place)*2 + (put ? 1 : 0);
  x = (x + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::uint64_t OwnerSums::of(const Event& event) {
  const bool counts = acquires(event) || gives_back(event);
  return counts ? of(gives_back(event), owners_.of(event).place) : 0;
}

std::uint64_t OwnerSums::of(std::uint32_t origin, const Event& event) {
  if (origin >= by_origin_.size()) by_origin_.resize(origin + 1);
  if (!by_origin_[origin]) by_origin_[origin] = of(event);
  return *by_origin_[origin];
}

}  // namespace refhist
