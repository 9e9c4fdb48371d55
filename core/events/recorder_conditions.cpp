// Functions that several families share: an argument tells whose call it is.
#include <algorithm>

#include "events/recorder.h"

namespace refhist {

SiteId Recorder::meant(SiteId armed, const Registers& registers) const {
  const Site& leader = sites_.get(armed);
  if (leader.only.argument == 0) return armed;
  const auto meets = [&](SiteId id) {
    const CallCondition& only = sites_.get(id).only;
    return registers.argument(only.argument) == only.value;
  };
  if (meets(armed)) return armed;
  const auto other = std::find_if(leader.colocated.begin(), leader.colocated.end(), meets);
  return other == leader.colocated.end() ? SiteId() : *other;
}

}  // namespace refhist
