// What `refhist follow` is asked for: the call in which an event happens is followed line by line to its end.
#pragma once

#include <string>

#include "base/types.h"

namespace refhist {

struct SessionState;

struct FollowOrder {
  std::string function;  ///< whose call, as a stack names it; the innermost of that name
  bool pointer = false;  ///< behind its return as well: wherever the pointer goes, until nobody has it
  std::string expect;    ///< history_sum of the object up to the event; empty: whatever it is
  std::string file;      ///< the way is written there; empty: it is told
};

/// The same number for the same events of an object up to this one, in whatever run: 16 hex digits.
/// `with_memory`: those too that allocate and free it, which quarantine brings about in other ways.
std::string history_sum(const SessionState& state, ObjectId object, EventId last, bool with_memory = true);

/// Where the event stands in its object's history, from 1.
std::int64_t number_in_history(const SessionState& state, EventId event);
/// The event that stands there; invalid when there is none.
EventId event_in_history(const SessionState& state, ObjectId object, std::int64_t number);

}  // namespace refhist
