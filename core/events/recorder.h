// Turns a stop at a site into an event: who, which object, what count, from where.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/quarantine_size.h"
#include "events/allocations.h"
#include "events/block_sizes.h"
#include "events/call_tracker.h"
#include "events/caller_filter.h"
#include "events/late_changes.h"
#include "events/program_view.h"
#include "events/second_owners.h"
#include "events/thread_names.h"
#include "history/history.h"
#include "history/ledger.h"
#include "sites/site_table.h"
#include "sites/tracked_family.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

namespace refhist {

struct RecordingOptions {
  Backend backend = Backend::automatic;  ///< for families tracked from now on
  bool stacks = true;                    ///< false: `--stacks none`, events are counted without their stack
  bool allocators = true;                ///< the first family in the agent brings the heap's functions along
  QuarantineSize quarantine;             ///< what the program frees and gets back late
  std::vector<std::string>
      excluded;  ///< globs of functions or module file names whose direct calls are left out
};

/// What one stop brought.
struct Recorded {
  SiteId site;
  Address object_address = 0;
  Count before;  ///< counter at entry, when read
  Outcome outcome;
};

class Recorder {
 public:
  Recorder(History& history, SiteTable& sites, ModuleMap& modules, Unwinder& unwinder,
           std::vector<TrackedFamily>& families)
      : history_(history),
        ledger_(history),
        sites_(sites),
        modules_(modules),
        unwinder_(unwinder),
        families_(families) {}

  [[nodiscard]] EventId next_event() const { return EventId(history_.event_count()); }
  /// Tells what the agent has recorded until now.
  void set_catch_up(std::function<void()> catch_up) { catch_up_ = std::move(catch_up); }
  RecordingOptions& options() { return options_; }
  [[nodiscard]] const RecordingOptions& options() const { return options_; }

  /// A thread stands at the entry of a probe. What was recorded is appended. `arm_return` receives the
  /// address where the call's return must be seen, if it must.
  void on_entry(const ProgramView& access, long tid, const Registers& registers, SiteId site,
                std::vector<Recorded>& recorded, std::optional<Address>& arm_return);
  /// Of the sites at an armed function's entry, the one whose condition these registers meet; invalid: this
  /// call is nobody's.
  [[nodiscard]] SiteId meant(SiteId armed, const Registers& registers) const;
  /// What the instruction of an inlined copy does to the counter.
  struct CounterStep {
    SiteId site;
    Address operand = 0;       ///< where the memory lies that it changes
    Address sp = 0;            ///< of the function that it was inlined into
    std::uint64_t before = 0;  ///< the operand's bytes
    std::uint64_t after = 0;
    bool past = false;  ///< it has happened: others may have changed the counter since, and told so
  };
  /// A thread stands at that instruction, with these registers. It is an event of every family that has a
  /// site there.
  void on_counter_change(const ProgramView& access, long tid, const Registers& registers,
                         const CounterStep& step, std::vector<Recorded>& recorded);
  /// What is known at an entry.
  struct Call {
    SiteId site;
    Address object = 0;
    Address sp = 0;
    Address return_pc = 0;
    Count before;
  };
  /// The entry of a get or put, with all that is known of it.
  struct OrdinaryCall {
    Call call;  ///< with `before`
    long tid = 0;
    ThreadIndex thread;
    std::uint64_t time_ns = 0;
    const RecordedStack* stack = nullptr;
    std::uint32_t* origin = nullptr;  ///< of the last one with the same site, thread and stack; or kNoOrigin
  };
  /// The same as on_entry, sooner, for a call that is nothing special. False, and nothing done, for others.
  bool on_ordinary_entry(const OrdinaryCall& ordinary);
  /// A thread enters a function watched with --after: its return must be seen.
  void on_watched_entry(const ProgramView& access, long tid, const Registers& registers, int watch,
                        std::optional<Address>& arm_return);

  /// A thread has come back to where a call of a probe returns. Appends what was recorded, and to `watched`
  /// the calls watched with --after that ended here.
  void on_return(const ProgramView& access, long tid, const Registers& registers,
                 std::vector<Recorded>& recorded, std::vector<PendingCall>& watched);

  /// What the object's counter reads now; nothing when it cannot be read.
  struct CounterLook {
    Count count;
    bool explained = true;  ///< by the events, or by calls that have begun
  };
  [[nodiscard]] CounterLook look_at_counter(const ProgramView& access, ObjectId id);
  /// A thread that stands there has used the object, which is dead: an event of it. `put`: it was about to do
  /// what that site does.
  EventId on_use(const ProgramView& access, long tid, const Registers& registers, ObjectId id,
                 SiteId put = SiteId());
  /// What became of the memory of the family's last object there, which was given back.
  [[nodiscard]] MemoryFate memory_fate(FamilyId family, Address address) const;
  /// A thread has just changed the object's counter. True when no probe tells of that: then it is an event.
  bool on_seen_change(const ProgramView& access, long tid, const Registers& registers, ObjectId id);
  /// Those that calls which have begun are about.
  [[nodiscard]] std::unordered_set<ObjectId> objects_in_calls();
  /// The first event inside the calls watched with --after that have begun; invalid when there are none.
  [[nodiscard]] EventId oldest_watched();
  /// Events of any family may be missing from now on.
  void note_lost() { history_.note_lost(); }

  /// A fork's other side is followed: its threads are new, its memory is the same.
  void forget_threads() { calls_.clear(); }
  [[nodiscard]] SecondOwners& second_owners() { return second_owners_; }
  /// One that has ended, once all that it has told is recorded.
  void forget_thread(long tid) { calls_.forget(tid); }
  /// Its functions are not followed any more: calls of theirs that have begun are dropped.
  void forget_family(FamilyId family);
  /// Some call that has begun will return there.
  [[nodiscard]] bool awaits_return_to(Address address);
  /// The process is gone: nothing is pending or in flight any more.
  void forget_process();
  /// From now on an address outside every block is memory that is not allocated.
  void set_allocator_tracked(bool tracked) { allocator_tracked_ = tracked; }
  [[nodiscard]] const Allocations& allocations() const { return allocations_; }
  [[nodiscard]] BlockSizes& block_sizes() { return block_sizes_; }
  void modules_changed() { callers_.forget(); }
  void restart_clock() { start_ = std::chrono::steady_clock::now(); }
  [[nodiscard]] std::uint64_t truncated_stacks() const { return truncated_; }
  [[nodiscard]] std::uint64_t excluded_calls() const { return excluded_calls_; }
  ThreadIndex thread_index(const ProgramView& access, long tid);
  ThreadIndex thread(long tid, const std::string& name) { return history_.thread(tid, name); }
  /// The stack of the event where it has one; else it is walked and interned, and `walked` receives it.
  const RecordedStack& capture_stack(const ProgramView& access, const Registers& registers,
                                     RecordedStack& walked);
  StackId intern(std::span<const RawFrame> frames, bool truncated);
  [[nodiscard]] std::uint64_t now() const;

 private:
  /// Time, thread and stack of one that happens now.
  Event event_here(const ProgramView& access, long tid, const Registers& registers);
  class ProgramContext;  // of an event: the program, and the calls that have begun
  void on_probe(const ProgramView& access, ThreadCalls& thread, const Registers& registers, Call& call,
                std::vector<Recorded>& recorded, std::optional<Address>& arm_return);
  void on_counter_site(const ProgramView& access, long tid, const Registers& registers, SiteId site,
                       std::vector<Recorded>& recorded, std::optional<Address>& arm_return);
  void change_count(const ProgramView& access, long tid, const Registers& registers, const CounterStep& step,
                    const Site& site, std::vector<Recorded>& recorded);
  [[nodiscard]] bool is_live(FamilyId family, Address object) const;
  /// What a site that counts for known objects alone has changed is the count of one.
  [[nodiscard]] bool is_known(const Site& site, Address object) const;
  [[nodiscard]] bool continues_count(const ProgramContext& around, FamilyId family, const Call& call,
                                     std::int64_t delta) const;
  /// The ledger says what the counter did before the call.
  /// As EventContext has it.
  [[nodiscard]] bool may_miss_puts(FamilyId family, StackId stack) const;
  [[nodiscard]] bool is_no_pointer(const Site& site, const Call& call) const;
  [[nodiscard]] bool agrees(FamilyId family, const Call& call) const;
  void attempted(const ProgramView& access, long tid, const Registers& registers, const PendingCall& call,
                 std::vector<Recorded>& recorded);
  /// Among threads, whether a compare-and-exchange succeeds is seen behind it: there. Nothing when it changes
  /// nothing.
  std::optional<Address> await_attempt(const ProgramView& access, long tid, const Registers& registers,
                                       const CounterStep& step);
  /// The stack of an event; what it shows to be over is dropped.
  StackId enter(const ProgramView& access, ThreadCalls& thread, const Registers& registers, Address sp);
  PendingCall make_pending(const ProgramView& access, const Call& call, const Site& site,
                           const Registers& registers, StackId stack) const;
  [[nodiscard]] std::uint64_t time_of(const ProgramView& access) const;
  void give_back(ProgramContext& around, SiteId site, StackId stack, Address begin, Address end,
                 std::vector<Recorded>& recorded);
  void destroy_pool(ProgramContext& around, SiteId site, StackId stack, Address pool,
                    std::vector<Recorded>& recorded);
  void allocation_returned(ProgramContext& around, const PendingCall& call, Address result,
                           std::vector<Recorded>& recorded);
  void move_objects(const ProgramContext& around, const PendingCall& call, const Block& from, Address to);
  Execution arrival_for(ProgramContext& around, ObjectId object, SiteId site, StackId stack);
  void leave_out(const ProgramView& access, const Site& site, const Registers& registers);
  [[nodiscard]] bool part_of_outer_call(const ThreadCalls& thread, const Call& call) const;
  /// The allocator family that its memory came from or went back to; invalid when none is known.
  [[nodiscard]] FamilyId allocator_of(ObjectId id) const;
  Execution make_arrival(const ProgramContext& around, FamilyId family, SiteId id, Address object,
                         std::optional<Role> role = std::nullopt);
  std::vector<int> changes_in_flight(const ProgramView& access, long tid, ObjectId object);
  void finish(ProgramContext& around, const PendingCall& call, Address result,
              std::vector<Recorded>& recorded);
  [[nodiscard]] MemoryFate fate_within_block(ObjectId id) const;
  /// Of an object whose memory is about to be freed: what it owns, if it is a control block.
  void note_owned(const ProgramView& access, ObjectId id);
  Count read_count(const ProgramView& access, FamilyId family, Address object) const;
  /// A counter that was read while other threads may run, and does not agree with the history: what the agent
  /// has recorded meanwhile is told before anybody is accused.
  void settle(ProgramContext& around, const Execution& execution, Count& count);

  History& history_;
  Ledger ledger_;
  std::function<void()> catch_up_;
  SiteTable& sites_;
  ModuleMap& modules_;
  Unwinder& unwinder_;
  std::vector<TrackedFamily>& families_;
  CallTracker calls_;
  LateChanges late_changes_{history_};
  SecondOwners second_owners_{history_, families_};
  struct {
    Address object = 0;
    int change = 0;  ///< by which the history lags behind the counter
  } returning_;      ///< while others' records are told before it
  ThreadNames thread_names_;
  Allocations allocations_;
  BlockSizes block_sizes_;
  bool allocator_tracked_ = false;
  std::unordered_map<Address, std::vector<ObjectId>> pools_;
  RecordingOptions options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  CallerFilter callers_{modules_, options_.excluded};
  std::uint64_t truncated_ = 0;
  std::uint64_t excluded_calls_ = 0;
};

}  // namespace refhist
