// Follows calls line by line while the program runs: a breakpoint at each line of the function, for one
// thread and one frame of the stack, until that returns. `refhist follow`.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "events/program_access.h"
#include "reachability/owner_words.h"
#include "session/armed_lines.h"
#include "session/follow_order.h"
#include "session/followed_way.h"
#include "session/held_words.h"
#include "session/holders_at_event.h"
#include "session/loss_follower.h"
#include "session/session_state.h"
#include "session/store_follower.h"

namespace refhist {

class ActivationFollower {
 public:
  explicit ActivationFollower(SessionState& state) : state_(state) {}

  /// The thread is at the event that the rule waits for.
  void begin(const ProgramAccess& access, long tid, const Registers& registers, const StopRule& rule);
  /// It is, and stands where its frames cannot be read.
  void refuse(DebuggerPort& port, const StopRule& rule, const std::string& why);
  /// A thread stands at a breakpoint of ours, maybe at one of these.
  void passed(const ProgramAccess& access, long tid, const Registers& registers);
  /// Nothing is followed any more: the history or the rules are about to change.
  void stop(DebuggerPort& port, const std::string& why);
  /// The process is gone: what has not come to its end is told as far as it went.
  void process_gone(DebuggerPort& port);
  /// A watched word has changed. False when none of these.
  bool changed(const ProgramAccess& access, long tid, Address word);

 private:
  struct Following {
    explicit Following(SessionState& state) : armed(state) {}
    FollowOrder order;
    ObjectId object;
    EventId taken;  ///< that the rule waited for
    EventId told;   ///< the last event of the object that the way has
    long tid = 0;
    Address cfa = 0;
    Address return_pc = 0;
    Address entry = 0;  ///< where the function begins
    ModuleId module;
    Address bias = 0;
    ArmedLines armed;
    std::set<Address> known;                     ///< words that pointed at the object at the event
    bool looked = false;                         ///< all of them were seen
    bool has_result = true;                      ///< the function may return a pointer
    bool inlined = false;                        ///< the function has no frame of its own
    std::size_t scans = 0;                       ///< of memory, while it was outside of the inlined function
    std::chrono::duration<double> looked_for{};  ///< at memory, where lines of the function begin
    bool outside = false;                        ///< it was there, and something had the pointer
    bool entered_again = false;
    /// The inlined function was left, hands nothing out, and nothing but registers of the function around it
    /// has the pointer: its way is over, and what becomes of the pointer is still watched.
    bool left = false;
    std::string outermost;  ///< the function that all of the frame's were inlined into
    HeldWords held;         ///< words in memory that have it, once nobody's frame does
    FollowedWay way;
  };
  /// A frame of the event's stack, in the program.
  struct Place {
    const LoadedModule* loaded = nullptr;
    Address pc = 0;
    Address cfa = 0;
    Address return_pc = 0;
    NamedFrame frame;
  };
  [[nodiscard]] ObjectId object_of(const StopRule& rule) const;
  /// Throws Error when it is not there.
  Place find(const ProgramAccess& access, const Registers& registers, const Event& event,
             const std::string& function);
  /// `inside`: an address of the function.
  void arm(DebuggerPort& port, Following& following, Address inside);
  /// False when that is outside of the function.
  bool step(Following& following, Address pc, bool exact);
  /// A register, or a word of the frame, has the pointer.
  [[nodiscard]] bool in_frame(const ProgramAccess& access, const Registers& registers,
                              const Following& following) const;
  /// FollowedStep::in_hand.
  std::optional<bool> in_hand(const ProgramAccess& access, const Registers& registers,
                              Following& following) const;
  OwnerWords words_of(DebuggerPort& port, ObjectId object) const;
  /// What points at the object now and did not at the event.
  std::vector<NewHolder> new_holders(DebuggerPort& port, const Following& following, bool& known) const;
  void add_holders(DebuggerPort& port, const Registers& registers, Following& following);
  /// The function has returned: true when that was the end.
  bool returned(const ProgramAccess& access, const Registers& registers, Following& following);
  /// What has the pointer now is followed; nothing: it is the end, and true.
  bool follow_holders(const ProgramAccess& access, const Registers& registers, Following& following);
  using Skip = std::function<bool(const LoadedModule& loaded, const NamedFrame& frame)>;
  /// Follows the innermost frame that has lines, but for those to skip. The thread has just executed the
  /// instruction before.
  void enter(const ProgramAccess& access, const Registers& registers, Following& following, const Skip& skip);
  /// Between the frame and the one inside of it a function has jumped away: its line of that is all of the
  /// way that is left. Throws Error when it is not known which one.
  bool jumped(const std::vector<RawFrame>& frames, std::size_t outer, Following& following);
  /// False when it has no place that can be watched.
  bool watch(DebuggerPort& port, Following& following, const std::vector<NewHolder>& holders);
  /// `freed`: the memory that had the pointer, when that was freed; else something else was put there.
  void replaced(const ProgramAccess& access, long tid, Following& following, AddressRange freed);
  /// The object's last event is a put by the function, just before.
  [[nodiscard]] bool was_put_by(const Following& following) const;
  /// The thread is outside of an inlined function: true when that was the end.
  bool left_inlined(const ProgramAccess& access, const Registers& registers, Following& following);
  /// What it was inlined into has returned, too.
  void returned_around(DebuggerPort& port, const Registers& registers, Following& following);
  void disarm(DebuggerPort& port, Following& following);
  void add_events(Following& following) const;
  /// Nothing of it is armed any more, and its way is told.
  void end(DebuggerPort& port, Following& following, FollowedWay::End how);
  void tell(DebuggerPort& port, Following& following);
  [[nodiscard]] bool arrived(const ProgramAccess& access, const Registers& registers, Following& following);

  SessionState& state_;
  LossFollower losses_{state_};
  StoreFollower stores_{state_};
  HoldersAtEvent holders_{state_};
  std::vector<Following> all_;
  std::set<int> begun_;  // rules, in this process
};

}  // namespace refhist
