// Follows an object from its last event on until the last pointer to it is gone that somebody may still use:
// through the frames that hold it, line by line, and through memory, by a watchpoint. `refhist follow
// --lost`.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "events/program_access.h"
#include "session/armed_lines.h"
#include "session/follow_order.h"
#include "session/followed_way.h"
#include "session/held_words.h"
#include "session/live_pointers.h"
#include "session/session_state.h"

namespace refhist {

class LossFollower {
 public:
  explicit LossFollower(SessionState& state) : state_(state), pointers_(state) {}

  /// The thread is at the event. Throws Error.
  void begin(const ProgramAccess& access, long tid, const Registers& registers, const FollowOrder& order,
             ObjectId object, EventId event);
  /// A thread stands at a breakpoint of ours, maybe at one of these.
  void passed(const ProgramAccess& access, long tid, const Registers& registers);
  /// A watched word has changed. False when none of these.
  bool changed(const ProgramAccess& access, long tid, Address word);
  /// Nothing is followed any more.
  void stop(DebuggerPort& port, const std::string& why);
  void process_gone(DebuggerPort& port);

 private:
  struct Following {
    explicit Following(SessionState& state) : lines(state), entries(state) {}
    FollowOrder order;
    ObjectId object;
    EventId begun;             ///< the event
    std::set<Address> known;   ///< words that had the pointer then
    std::set<Address> places;  ///< when it was last looked: words, and the frames' addresses
    LiveFrame frame;
    bool in_frame = false;
    std::optional<LiveFrame> used;  ///< the last frame that had the pointer and was to use it
    bool lost = false;              ///< the last pointer is gone; the rest of that call is followed
    bool told = false;
    bool through = false;  ///< the order's blocks lead to the object: pointers to them are followed
    bool stale = false;    ///< `places` is not what it was at the last line
    EventId verdict;       ///< the object's last event when the pointer was lost; invalid before
    Address entry = 0;     ///< of the frame's function
    std::set<std::string> variables;  ///< that had the pointer at the last use
    std::size_t stops = 0;
    ArmedLines lines;    ///< of the frame
    ArmedLines entries;  ///< of functions that may be handed the pointer
    std::chrono::duration<double> looked_for{};
    HeldWords held;
    FollowedWay way;
  };
  void arrive(const ProgramAccess& access, long tid, const Registers& registers, Following& following);
  /// One of the order's blocks points at the object now.
  [[nodiscard]] bool leads_through(const ProgramAccess& access, const Following& following) const;
  [[nodiscard]] PointedAt target(const Following& following) const;
  /// With all threads at rest.
  LiveCopies find(const ProgramAccess& access, const PointedAt& object, long tid, const Registers& registers,
                  LiveReturn returned = LiveReturn::none);
  /// At a line where the frame has the pointer. Throws Error when a reference is lost already.
  void look_around(const ProgramAccess& access, const Registers& registers, Following& following);
  /// That the object has. Throws Error when that is not known.
  [[nodiscard]] std::size_t references(const Following& following) const;
  /// In the function around the frame, at one of its lines.
  void at_line(const ProgramAccess& access, const Registers& registers, const LiveFrame& here,
               Following& following);
  /// What has the pointer now is followed, or it is lost.
  void look(const ProgramAccess& access, long tid, const Registers& registers, Following& following,
            LiveReturn returned = LiveReturn::none);
  void enter(const ProgramAccess& access, const LiveFrame& frame, Following& following);
  void arm_entries(DebuggerPort& port, Following& following);
  /// Of the program's own functions with lines; more than can be armed where they are too many.
  const std::vector<Address>& function_starts();
  /// As many as can be.
  void watch(DebuggerPort& port, const std::vector<NewHolder>& holders, Following& following);
  /// The object has more references than pointers, since the place that was followed has none any more.
  /// Throws Error when that is not known.
  [[nodiscard]] bool is_lost(const LiveCopies& copies, const Following& following, Address followed) const;
  /// `copies`: what has it now.
  void follow(const ProgramAccess& access, LiveCopies copies, Following& following);
  /// The object's last event is a put in the same call of the function: the pointer that goes then is that
  /// one's.
  bool was_put_in(const std::string& function, const LiveStack& stack, const Following& following);
  bool in_slices(Address pc);
  /// Words near it point at objects of the family that have ended.
  [[nodiscard]] bool is_beside_ended(const ProgramAccess& access, Address word,
                                     const Following& following) const;
  /// Why the pointer in memory may have been another's than of the code that overwrote or freed it: a
  /// library's, or of what was put there. Empty when it was not.
  std::string why_not_its_own(const LiveStack& stack, bool freed, const Following& following);
  /// The memory that had the last pointer has something else, or was freed.
  void overwritten(const ProgramAccess& access, long tid, const Registers& registers, bool freed,
                   Following& following);
  /// The frame has lost it, and is followed on while it lasts.
  void lose(DebuggerPort& port, Following& following);
  [[nodiscard]] LastUse last_use(const Following& following) const;
  /// What the frame's call gives its caller.
  [[nodiscard]] LiveReturn result_of(const LiveFrame& frame);
  /// The frame has the pointer and will use it. False when it has no line there.
  bool note_use(const ProgramAccess& access, const LiveFrame& frame, Following& following);
  /// False when the frame has no line there.
  bool add_step(const LiveFrame& frame, bool in_hand, Following& following);
  void disarm(DebuggerPort& port, Following& following);
  void finish(DebuggerPort& port, FollowedWay::End how, Following& following);
  void refuse(DebuggerPort& port, const std::string& why, Following& following);

  SessionState& state_;
  LivePointers pointers_;
  std::vector<Following> all_;
  std::vector<Address> starts_;
  std::size_t modules_ = 0;  // when the starts were looked for
};

}  // namespace refhist
