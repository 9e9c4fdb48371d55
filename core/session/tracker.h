// Plans and arms: brings the breakpoints in the program in line with the families, rules and modules.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "session/asked_calls.h"
#include "session/fallback_sites.h"
#include "session/program_guard.h"
#include "session/session_state.h"
#include "session/shown_code.h"
#include "session/stop_points.h"
#include "session/thread_places.h"

namespace refhist {

class Tracker {
 public:
  explicit Tracker(SessionState& state);

  struct Tracked {
    FamilyId family;
    std::size_t armed = 0;
    std::vector<std::string> notes;  // what the user should know of this family
  };
  /// Starts following a family. Throws Error: two families with one name or one function, a wrong member
  /// path, no such function (with the nearest one).
  enum class Named : bool { no, yes };
  Tracked track(DebuggerPort& port, Family family, Named named = Named::yes);

  /// Nothing of the family is armed any more; what was recorded stays, and its name is free again.
  void untrack(DebuggerPort& port, FamilyId id);

  /// Throws Error: it is a kernel that cannot be followed.
  void process_started(DebuggerPort& port);
  /// What the debugger is connected to is a kernel, or is none: without a family that is tracked, nobody has
  /// asked yet.
  void look_for_kernel(DebuggerPort& port);
  /// The debugger goes on with the other side of a fork: same memory, same breakpoints, another process.
  void follow_fork(DebuggerPort& port);
  /// The child stands at the return of fork: from here on the debugger reads and writes its memory, no longer
  /// the parent's.
  void settle_fork(DebuggerPort& port);
  /// A process that was there before anything was tracked: births before now were not seen.
  void begin_late(DebuggerPort& port);
  /// Forgets objects and events; what is armed stays.
  void forget_history();
  void process_gone();
  void modules_changed(DebuggerPort& port);

  /// Takes every breakpoint of ours out, or puts them in again (`refhist stop`, `start`).
  void pause(DebuggerPort& port);
  void resume(DebuggerPort& port);

  /// A call that a thread has begun, and that nobody has recorded yet.
  struct Begun {
    long tid;
    Address pc;  ///< of the function's entry, or of the instruction of an inlined copy
    std::optional<Registers> registers;  ///< as they were there, where it has come further
  };
  /// Sites in the agent at whose very beginning a thread stands go over to breakpoints until no thread does.
  /// `calls`: the ones whose threads are on their way to be stopped.
  std::vector<Begun> fall_back_to_breakpoints(DebuggerPort& port, const AskedCalls& calls);
  /// Patches make room for breakpoints of the user inside their bytes.
  void respect_breakpoints(DebuggerPort& port);

  void arm_return(DebuggerPort& port, Address address);
  /// A thread of the agent is to stop where its call returns to. False when the debugger refused.
  bool stop_at_return(DebuggerPort& port, Address address);
  /// Brings the agent in, if it is wanted and could not be there before.
  void bring_agent(DebuggerPort& port, long hit);
  /// Sites in the agent look at their events as the rules want it now.
  void apply_rules(DebuggerPort& port);
  /// A thread of the agent is to stop before its call, or the instruction of an inlined copy. Returns where
  /// its stub, with this agent::Site, leads back to; 0 when the debugger refused.
  Address stop_at_beginning(DebuggerPort& port, const AskedCalls::Call& call, Address stub_site);
  /// A thread that stops at the site's entry goes on to where the debugger shows its arguments: at -O0,
  /// behind where the function has stored them. What it does until then is done for it, and no other thread
  /// runs. It stays where it is when that is not known, or a breakpoint of the user's is there.
  void advance_to_arguments(DebuggerPort& port, long tid, SiteId id, const Registers& registers);
  /// It stands there now. Its call was recorded already.
  void arrived(long tid) { arrived_.insert(tid); }
  /// A thread stands at the breakpoint of a site that belongs to the agent. True when the agent will see the
  /// call.
  bool through_agent(DebuggerPort& port, SiteId id, long tid, const Registers& registers);
  /// Arms the functions of the rules' --after. Returns a line when none is found yet.
  std::string watch_functions(DebuggerPort& port);
  /// " (did you mean X?)" for a function that no loaded module has; empty when none is near.
  [[nodiscard]] std::string nearest_function(const std::string& name) const;

  [[nodiscard]] const StopPoints& stop_points() const { return stop_points_; }

 private:
  Address place_module(DebuggerPort& port, const Module& module, Address told);
  void plan_module(DebuggerPort& port, const LoadedModule& module);
  void plan_family_in(DebuggerPort& port, FamilyId id, const LoadedModule& module);
  void note_missing_copies(TrackedFamily& tracked, const Module& module);
  void warn_once(const std::string& text);
  /// Says in the family which of its births are unseen.
  void note_births(FamilyId id);
  void arm_site(DebuggerPort& port, SiteId id);
  void replace_in_place(DebuggerPort& port, SiteId guess, SiteId function);
  void warn_of_inexact_copies(DebuggerPort& port, SiteId id);
  /// A site at the instruction that is armed for another family already. False when it cannot be shared.
  bool colocate(DebuggerPort& port, SiteId leader, SiteId other);
  /// What the stop rules want to see at the site, by its own family; by any of its colocated'.
  [[nodiscard]] AgentWatch watch_of(const Site& site) const;
  [[nodiscard]] bool colocated_watched(const Site& site) const;
  [[nodiscard]] bool is_colocated(SiteId id) const;
  /// No thread can stand in the site's first instructions but the one that hit its breakpoint.
  bool may_go_back(DebuggerPort& port, SiteId id, long tid);
  /// The thread runs a signal handler that has interrupted it in the site's code.
  [[nodiscard]] bool is_interrupted_in(DebuggerPort& port, SiteId id, const Registers& registers) const;
  /// From its breakpoint to the agent.
  bool go_back(DebuggerPort& port, SiteId id);
  void move_to_breakpoint(DebuggerPort& port, SiteId id, const std::string& why);
  /// The same while other threads may run there.
  void move_among_threads(DebuggerPort& port, SiteId id, const std::string& why);
  void make_room(DebuggerPort& port, SiteId id);
  void return_to_agent(DebuggerPort& port);
  /// A thread at a site, and whether the agent had that when the user's stop came.
  struct StandingThread {
    SiteId site;
    ThreadPlaces::Place place;
    bool was_in_agent;
    Address call;                    ///< AgentBackend::call_at
    Address stub;                    ///< AgentBackend::stub_from
    std::optional<Registers> entry;  ///< AgentBackend::at_entry
  };
  [[nodiscard]] std::vector<StandingThread> standing_threads(DebuggerPort& port,
                                                             const ThreadPlaces& places) const;
  [[nodiscard]] bool may_show(DebuggerPort& port, const Site& site) const;
  /// The user has a breakpoint inside of the function, and would see that its call comes back to the agent.
  static bool users_look_into(DebuggerPort& port, const Site& site);
  /// Sites in code that the user looks at go over to breakpoints, too, where no thread stands.
  void show_program_code(DebuggerPort& port, const ThreadPlaces& places);
  /// A thread at the beginning of a call that the user does not look at: whether the debugger will report it
  /// at a breakpoint there when the program goes on, nobody knows. In the stub its call is recorded in any
  /// case.
  static bool goes_through_stub(DebuggerPort& port, const StandingThread& stander, long seen);
  /// True when it is there now and was not before.
  bool attach_agent(DebuggerPort& port, long hit);
  bool arm_in_agent(DebuggerPort& port, SiteId id);
  /// Sites that were armed before the agent could be there, or put off.
  void upgrade_to_agent(DebuggerPort& port);
  /// The agent has not come with the libraries: breakpoints, then.
  void arm_put_off(DebuggerPort& port);
  /// The linker will stop the program once it has mapped what the executable needs, before code of either
  /// runs.
  [[nodiscard]] bool libraries_to_come(DebuggerPort& port) const;
  void follow_modules(DebuggerPort& port, bool starts);
  [[nodiscard]] bool wants_agent() const;
  [[nodiscard]] bool wants_agent(const TrackedFamily& tracked) const;
  /// Where the agent asks for a decision.
  void watch_agent_stop(DebuggerPort& port);
  /// A child of fork hits no breakpoint of ours while its calls pass through the agent: the return of fork
  /// tells of it.
  void watch_forks(DebuggerPort& port);
  void guard_program(const DebuggerPort& port);
  void publish_agent(DebuggerPort& port);
  void leave_parent(DebuggerPort& port);
  void disarm_site(DebuggerPort& port, SiteId id);
  void disarm_sites_of(DebuggerPort& port, FamilyId id);
  void arm_special(DebuggerPort& port, const LoadedModule& module);
  /// Has the program not executed an instruction of its own yet? Then no birth can have been missed.
  [[nodiscard]] bool at_first_instruction(DebuggerPort& port) const;
  void judge_allocator();
  /// Adds a family and arms what is there. Returns how many sites are.
  std::size_t add_family(DebuggerPort& port, TrackedFamily tracked);
  /// The heap's functions, once something is tracked that the agent records.
  void follow_allocators(DebuggerPort& port);
  void leave_family(DebuggerPort& port, FamilyId id);
  /// Of calls that have come back, whether or not the next ones come by breakpoint.
  void release_return_points(DebuggerPort& port);
  /// What a family of the user's is to follow itself.
  void drop_default(DebuggerPort& port, const Family& family);

  SessionState& state_;
  ProgramGuard program_guard_;
  StopPoints stop_points_;
  void with_threads_known(DebuggerPort& port, const std::function<void()>& work);

  // What is armed is armed when the libraries are there, and the agent with them: a debugger takes ever
  // longer for each breakpoint that it places, and would place one for each site, only to take it out then.
  bool put_off_ = false;
  std::optional<ThreadPlaces> standing_;  // while arming in code that threads may run
  bool parent_left_ = false;              // by the debugger, and not by the agent yet
  FallbackSites fallback_sites_;
  ShownCode shown_;
  std::unordered_set<Address> guards_;          // breakpoints on patches, for threads that are to stop there
  std::unordered_set<long> arrived_;            // at one of these, since the program went on last
  std::vector<AskedCalls::Call> at_arguments_;  // those that were sent on from their entry, since then
};

}  // namespace refhist
