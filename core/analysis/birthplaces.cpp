#include "analysis/birthplaces.h"

#include <fmt/core.h>

namespace refhist {

std::string Birthplace::text() const {
  if (by.empty() && frame.function.empty() && frame.pc == 0) return "born unseen";
  return fmt::format("born in {}{}", FrameNamer::text(frame), by.empty() ? "" : " by " + by);
}

const Birthplace& Birthplaces::of(const Object& object) {
  const Birthplace*& known =
      known_[std::uint64_t{FamilyId(object.family).value} << 32U | object.birth_origin];
  if (known != nullptr) return *known;
  Birthplace place{0, object.family, {}, {}};
  if (object.born.valid()) {
    const Event born = history_.event(object.born);
    place.by = namer_.operation(born);
    if (place.by.empty() && born.site.valid()) place.by = sites_.get(born.site).function;
    place.frame = namer_.owner(born);
  }
  return *(known = &same(std::move(place)));
}

const Birthplace& Birthplaces::same(Birthplace place) {
  place.number = places_.size();
  std::pair key(place.family, place.text());
  return places_.try_emplace(std::move(key), std::move(place)).first->second;
}

}  // namespace refhist
