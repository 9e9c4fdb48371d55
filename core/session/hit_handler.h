// What happens at one stop of ours: record, keep the plan in step with the modules, decide whether the
// program stays stopped and why.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "events/repeated_hits.h"
#include "session/activation_follower.h"
#include "session/asked_calls.h"
#include "session/session_state.h"
#include "session/tracker.h"

namespace refhist {

class HitHandler {
 public:
  HitHandler(SessionState& state, Tracker& tracker);

  /// True: the program stays stopped for `stop_reason()`. Throws Error.
  bool handle(DebuggerPort& port, long tid, Address pc) { return handle(port, tid, pc, nullptr); }
  /// The same at a raw exit system call, with the rules that ask for it.
  bool handle_raw_exit(DebuggerPort& port, long tid, bool whole_process);
  [[nodiscard]] const std::string& stop_reason() const { return reason_; }

  /// All threads stand still: what was kept from them for the sake of a stop is free again.
  void settle_stop();
  /// The user sees a stop, and a thread stands at the beginning of a call that nobody will tell of.
  void take_begun(DebuggerPort& port, const Tracker::Begun& call);
  [[nodiscard]] const AskedCalls& calls() const { return calls_; }
  /// The process is gone: tells where it was to stop and did not.
  void tell_missed(DebuggerPort& port);
  /// The user sees a stop; `signal` is fatal or 0. With break-on-leak, the leaks are told at a fatal signal.
  void judge_stop(DebuggerPort& port, int signal);
  /// A watched word has changed. False when it is none of the followed pointers.
  bool changed(DebuggerPort& port, long tid, Address word) {
    return follower_.changed(ProgramAccess(port, state_.process, state_.tracer_here), tid, word);
  }
  void stop_following(DebuggerPort& port, const std::string& why) { follower_.stop(port, why); }
  /// After the last hit.
  void process_gone(DebuggerPort& port) { follower_.process_gone(port); }

 private:
  void check_process(DebuggerPort& port, long tid);
  void stop_for(const Firings& firings);
  /// Which rules fire at this event.
  Firings judge(const Recorded& recorded, long tid);
  /// A thread asks at the agent's stop, which is at `pc`. True: the program stops right there.
  bool answer(DebuggerPort& port, const ProgramAccess& access, long tid, Address pc);
  /// Which rules fire at this call, now that the thread waits in it.
  Firings decide(const ProgramAccess& access, AskedCalls::Asked& asked);
  /// Sends the thread to where the program is to stop. Empty when it is on its way, else why not.
  std::string send(DebuggerPort& port, AskedCalls::Sent sent, Address return_pc, Address stub_site,
                   Address pc);
  /// The program stops where the thread asks, because of what `why` says. False: no rule fires any more.
  bool stop_here(long tid, const Firings& firings, bool returned, const std::string& why);
  /// A thread has come to where it was sent. True when this stop is decided.
  bool arrive(DebuggerPort& port, long tid, const Registers& registers);
  void seen_by_breakpoint(const Recorded& recorded, long tid);
  /// `begun`: at the user's stop, and nobody else will tell of the call.
  bool handle(DebuggerPort& port, long tid, Address pc, const Tracker::Begun* begun);
  bool handle_there(DebuggerPort& port, long tid, Address pc, const Tracker::Begun* begun);
  /// The same in a kernel, where a thread of the debugger's is a processor.
  bool handle_in_kernel(DebuggerPort& port, const ProgramAccess& access, long processor, Address pc);
  void record_return(const ProgramAccess& access, long tid, const Registers& registers);
  void record_entry(DebuggerPort& port, const ProgramAccess& access, long tid, const Registers& registers,
                    SiteId site);
  void watch_calls(DebuggerPort& port, const ProgramAccess& access, long tid, const Registers& registers);
  void follow(const StopRule& rule);
  void record(DebuggerPort& port, const ProgramAccess& access, long tid, const Registers& registers,
              bool begun);
  /// Once, where breakpoints that nobody asked for slow the program down.
  void tell_slow(DebuggerPort& port, SiteId id);
  void judge_watched(const PendingCall& call, long tid);
  void judge_exit(DebuggerPort& port, long raw_exit_thread);  ///< 0: in _exit
  void stop_for(StopRule& rule, const std::string& what);
  struct LeakSummary {
    std::size_t leaked = 0;  ///< without those that only they hold
    std::size_t undecided = 0;
    std::string text;           ///< of the leaked ones, with the first suspect
    std::string why_undecided;  ///< "undecidable: 3 objects: ..."; empty when none is
  };
  [[nodiscard]] LeakSummary leak_summary(const StopRule& rule);
  [[nodiscard]] std::int64_t recorded_together(const Object& object) const;
  [[nodiscard]] std::string place(const Recorded& recorded, long tid);
  [[nodiscard]] bool rule_applies(const StopRule& rule, const Object& object) const;

  SessionState& state_;
  Tracker& tracker_;
  AskedCalls calls_;
  ActivationFollower follower_{state_};
  DebuggerPort* port_ = nullptr;   // of the hit that is looked at
  long tid_ = 0;                   // its thread
  std::optional<Registers> here_;  // where it stands in the program's own code
  std::vector<long> arrived_;      // threads, since the last stop that the user has seen
  RepeatedHits repeated_;
  std::string reason_;
  std::unordered_set<long> known_threads_;  ///< of `known_process_`: they need no second look whose they are
  long known_process_ = 0;
  long exit_thread_ = 0;  ///< of `exit_process_`: it stands in _exit, where the program was looked at
  long exit_process_ = 0;
};

}  // namespace refhist
