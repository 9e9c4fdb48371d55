// A use of a dead object behind the put that ended it, in the same call of one function: the reference was
// that function's own, and was given back too early.
#pragma once

#include <optional>

#include "analysis/frame_namer.h"
#include "analysis/named_frame.h"
#include "history/history.h"

namespace refhist {

struct LateUse {
  NamedFrame use;
  NamedFrame put;  ///< in the same function
  EventId given_back;
  EventId used;
  bool is_get = false;  ///< what used the object took a reference
  bool itself = false;  ///< it is the function's own code that used the object
};

/// What took a reference when the last one had just been given back; the first time.
std::optional<Event> late_get(const History& history, ObjectId id);

/// Nothing when the object was not used after its end, or elsewhere.
std::optional<LateUse> late_use(const History& history, FrameNamer& namer, ObjectId id);

}  // namespace refhist
