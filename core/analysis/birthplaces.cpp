#include "analysis/birthplaces.h"

#include <fmt/core.h>

namespace refhist {

std::string Birthplace::text() const {
  if (by.empty() && frame.function.empty() && frame.pc == 0) return "born before it was first seen";
  return fmt::format("born in {}{}", FrameNamer::text(frame), by.empty() ? "" : " by " + by);
}

const Birthplace& Birthplaces::of(const Object& object) {
  const Birthplace*& known = known_[std::uint64_t{object.family.value} << 32U | object.birth_origin];
  if (known != nullptr) return *known;
  Birthplace place{places_.size(), object.family, {}, {}};
  if (object.born.valid()) {
    const Event born = history_.event(object.born);
    if (born.site.valid()) place.by = sites_.get(born.site).function;
    place.frame = namer_.owner(born);
  }
  std::pair key(object.family, place.text());
  return *(known = &places_.try_emplace(std::move(key), std::move(place)).first->second);
}

}  // namespace refhist
