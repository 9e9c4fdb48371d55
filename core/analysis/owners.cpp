#include "analysis/owners.h"

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

}  // namespace refhist
