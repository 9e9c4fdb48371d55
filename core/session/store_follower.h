// Waits until a pointer to an object is stored in a word of memory, by a watchpoint. `refhist follow
// --stored`.
#pragma once

#include <string>
#include <vector>

#include "events/program_access.h"
#include "session/follow_order.h"
#include "session/held_words.h"
#include "session/session_state.h"

namespace refhist {

class StoreFollower {
 public:
  explicit StoreFollower(SessionState& state) : state_(state) {}

  /// The program is at the event. Throws Error when the word cannot be watched.
  void begin(const ProgramAccess& access, const FollowOrder& order, ObjectId object, EventId event);
  /// A watched word has changed. False when none of these.
  bool changed(const ProgramAccess& access, long tid, Address word);
  /// Nothing is followed any more.
  void stop(DebuggerPort& port, const std::string& why);

 private:
  struct Following {
    FollowOrder order;
    ObjectId object;
    EventId begun;  ///< the event
    Address address = 0;
    HeldWords held;
    std::size_t stops = 0;  ///< of the program, at stores to the word
  };
  FollowedWay store(const ProgramAccess& access, long tid);
  void end(DebuggerPort& port, std::vector<Following>::iterator at, FollowedWay way);
  void tell(DebuggerPort& port, const Following& following, FollowedWay way);

  SessionState& state_;
  std::vector<Following> all_;
};

}  // namespace refhist
