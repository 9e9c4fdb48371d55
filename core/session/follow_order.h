// What `refhist follow` is asked for: the call in which an event happens is followed line by line to its end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "heap/reachability_ranges.h"
#include "port/debugger_port.h"

namespace refhist {

struct FollowedWay;
struct SessionState;

enum class Follow : std::uint8_t {
  call,     ///< until it returns
  pointer,  ///< behind its return as well: wherever the pointer goes, until nobody has it
  loss,     ///< from the event on, until the object has more references than pointers
  holders,  ///< not at all: what holds pointers to the object at the event is told
  store     ///< from the event on, until a word of memory is given a pointer to the object
};

inline constexpr std::array kAllFollows{Follow::call, Follow::pointer, Follow::loss, Follow::holders,
                                        Follow::store};
/// Of `refhist follow`: "--lost"; empty for a call.
std::string_view follow_option(Follow what);

struct FollowOrder {
  std::string function;  ///< whose call, as a stack names it; the innermost of that name
  Follow what = Follow::call;
  /// Follow::loss: blocks of the heap with pointers to it. As soon as they lead to it, pointers to them are
  /// followed.
  std::vector<AddressRange> through;
  Address word = 0;    ///< Follow::store: which
  std::string expect;  ///< history_sum of the object up to the event; empty: whatever it is
  std::string file;    ///< the way is written there; empty: it is told
};

/// The same number for the same events of an object up to this one, in whatever run: 16 hex digits.
/// `with_memory`: those too that allocate and free it, which quarantine brings about in other ways.
std::string history_sum(const SessionState& state, ObjectId object, EventId last, bool with_memory = true);

/// Where the event stands in its object's history, from 1.
std::int64_t number_in_history(const SessionState& state, EventId event);
/// The event that stands there; invalid when there is none.
EventId event_in_history(const SessionState& state, ObjectId object, std::int64_t number);

/// Which events of the object the way has seen, for who compares two runs.
void add_sum(const SessionState& state, ObjectId object, EventId told, FollowedWay& way);
/// To the order's file, or to the user.
void tell_way(DebuggerPort& port, const FollowOrder& order, const FollowedWay& way);

}  // namespace refhist
