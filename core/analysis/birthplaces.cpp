#include "analysis/birthplaces.h"

#include <fmt/core.h>

namespace refhist {

std::string Birthplace::text() const {
  if (by.empty() && frame.function.empty() && frame.pc == 0) return "born before it was first seen";
  return fmt::format("born in {}{}", FrameNamer::text(frame), by.empty() ? "" : " by " + by);
}

const Birthplace& Birthplaces::of(const Object& object) {
  const Event born = object.born.valid() ? history_.event(object.born) : Event();
  const Birthplace*& known = known_[{object.family, born.site, born.stack}];
  if (known != nullptr) return *known;
  Birthplace place{object.family, born.site.valid() ? sites_.get(born.site).function : std::string(), {}};
  if (object.born.valid()) place.frame = namer_.owner(born);
  std::string text = place.text();
  return *(known = &places_.try_emplace({object.family, std::move(text)}, std::move(place)).first->second);
}

}  // namespace refhist
