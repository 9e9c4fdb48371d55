// Runs the program again to see what held pointers to an object that was given back once too often, at each
// of its events, and what stored them.
#pragma once

#include <optional>
#include <vector>

#include "analysis/leaks.h"
#include "explain/second_run.h"
#include "session/followed_way.h"
#include "session/session_state.h"

namespace refhist {

/// One of the object's events.
struct PutMoment {
  EventId event;
  FollowedWay at;  ///< Follow::holders
};

/// A word of memory with a pointer to the object.
struct HeldSpan {
  NewHolder word;
  std::size_t first = 0;  ///< the moment at which it was first seen
  std::size_t last = 0;   ///< and last, without a break
  FollowedWay stored;     ///< Follow::store
  /// The code of several puts has loaded the pointer from there, and behind the first one nothing stored it
  /// again to the object's end.
  bool kept = false;
};

struct PutCourse {
  ObjectId object;
  std::vector<PutMoment> moments;   ///< up to the put that took the last reference
  std::optional<PutMoment> behind;  ///< the first put after that, where the run had it
  std::vector<HeldSpan> spans;
  std::string why_not;  ///< why it is not known; empty when it is
};

/// The word lies in frames of the stack, or a little below them.
bool is_of_stack(const std::vector<FollowedStep>& stack, Address at);
/// Those among the moments of the span whose code has loaded the pointer from its word.
std::vector<EventId> puts_from(const SessionState& state, const PutCourse& course, const HeldSpan& span);

/// Of each of the objects. Throws Error when the program could not be run.
std::vector<PutCourse> put_courses(SessionState& state, const std::vector<ObjectId>& objects,
                                   const SecondRun& second);

}  // namespace refhist
