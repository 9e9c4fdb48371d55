// What holds pointers to an object at one of its events. `refhist follow --holders`.
#pragma once

#include <vector>

#include "events/program_access.h"
#include "session/follow_order.h"
#include "session/followed_way.h"
#include "session/live_pointers.h"
#include "session/session_state.h"

namespace refhist {

/// Frames of the program's own code, innermost first; what was inlined is a step of its own.
void add_stack(SessionState& state, const LiveStack& stack, FollowedWay& way);

class HoldersAtEvent {
 public:
  explicit HoldersAtEvent(SessionState& state) : state_(state), pointers_(state) {}
  /// The thread is at the event.
  void tell(const ProgramAccess& access, long tid, const Registers& registers, const FollowOrder& order,
            ObjectId object, EventId event);

 private:
  /// Words in the program's own frames that are members of structures, or of no variable that is known; all
  /// words on the stacks of other threads.
  void add_members(const LiveStack& stack, const std::vector<NewHolder>& words, FollowedWay& way) const;
  static void add_reaches(const ProgramAccess& access, const LiveStack& stack, FollowedWay& way);

  SessionState& state_;
  LivePointers pointers_;
};

}  // namespace refhist
