// The part of refhist that runs inside the debugged program: called by the stubs, it writes one record for
// each event into the ring of its thread. No library, no lock, no allocation, general registers only; it may
// be interrupted anywhere by a signal whose handler comes here again.
#include "agent/agent_abi.h"
#include "agent/agent_threads.h"
#include "agent/counter_place.h"
#include "agent/event_clock.h"
#include "agent/instructions.h"
#include "agent/malloc_block.h"
#include "agent/quarantine.h"
#include "agent/rule_watch.h"
#include "agent/walker_shared.h"

namespace refhist::agent {

// Written by the debugger only.
extern "C" __attribute__((used)) const Config refhist_agent_config{};

namespace {

// The compiler may not believe what it sees of it.
const Config& config() {
  const Config* config = &refhist_agent_config;
  __asm__("" : "+r"(config));
  return *config;
}

uint64_t argument(const Saved& saved, unsigned place) {
  return reinterpret_cast<const uint64_t*>(&saved)[place - 1];
}

// Where a watched call comes back: what save_registers begins with. Behind a moved call instruction of the
// program's stands a jump.
bool is_watched_return(uint64_t pc) {
  constexpr uint32_t kBegin = 0x900f9f50;  // push rax; lahf; seto
  return is_in_code(config(), pc) && *reinterpret_cast<const uint32_t*>(pc) == kBegin;
}

// A function that was called through a stub may jump to another probed one, which then returns to the stub.
// Its call is the same as the first one's.
__attribute__((always_inline)) inline uint64_t outermost_entry(uint64_t entry_sp) {
  constexpr uint64_t kCallThrough = 16;  // the pushed argument and the return address into the stub
  while (is_watched_return(*reinterpret_cast<const uint64_t*>(entry_sp))) entry_sp += kCallThrough;
  return entry_sp;
}

// Count and time are of one moment: when a signal handler has recorded events in between, they are read anew.
__attribute__((always_inline)) inline Moment read_now(AgentThread thread, const Site& site, uint64_t object,
                                                      bool wanted) {
  const bool counts = wanted && has_counter(*thread.shared, site, object);
  EventClock clock(*thread.shared, *thread.slot, thread.number());
  Moment reading{};
  uint64_t before = 0;
  do {
    before = __atomic_load_n(&thread.slot->finished, __ATOMIC_RELAXED);
    clock.begin();
    if (counts) reading.count = load(object + static_cast<uint64_t>(site.counter_offset), site.counter_size);
    reading.time = clock.stamp();
  } while (before != __atomic_load_n(&thread.slot->finished, __ATOMIC_RELAXED) || !clock.holds(reading.time));
  reading.has_count = counts;
  return reading;
}

__attribute__((always_inline)) inline bool publish(ThreadSlot& thread, Record& record, uint64_t index) {
  // A child of fork that was made inside the agent must not speak for its parent.
  const auto* control = reinterpret_cast<const Control*>(config().control);
  if (__atomic_load_n(&control->enabled, __ATOMIC_RELAXED) == 0) return false;
  // Others have come in while this one was left, on another stack, and have given it up.
  if (record.lap >= lap_of(index)) {
    ++thread.lost;
    return false;
  }
  __atomic_store_n(&thread.finished, thread.finished + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&record.lap, lap_of(index), __ATOMIC_RELEASE);
  return true;
}

// The debugger stops the program here and decides. 1: the thread shall go back to the function's beginning,
// where a breakpoint waits for it. Question and answer are in registers: a signal handler may come in between
// and ask too.
uint64_t ask_debugger(const Site& site, uint64_t sp, bool again) {
  return reinterpret_cast<AskDebugger>(config().stop)(&site, sp, again ? 1 : 0);
}

WatchedCall watched_call(const AgentThread& thread, const Record& record, uint64_t object) {
  return WatchedCall{object, record.extra, record.sp, record.return_pc, thread.number()};
}

// A thread that goes back makes its call once more, and until it stands there nobody else comes to the
// object.
uint64_t decide(AgentThread thread, const Site& site, const Record& record, bool published) {
  const WatchedCall call = watched_call(thread, record, record.object);
  const uint64_t back = published ? ask_debugger(site, call.sp, false) : 0;
  RuleWatch watch(thread.shared, *thread.slot, site, call);
  if (back != 0) {
    thread.slot->sent = {reinterpret_cast<uint64_t>(&site), call.sp};
    watch.ended();
  } else {
    watch.release();
  }
  return back;
}

void note_birth(AgentThread thread, const Site& site, uint64_t object, uint8_t flags) {
  if (site.effect != Effect::birth || (flags & kHasCount) == 0) return;
  note_object(config(), *thread.shared, object, object + static_cast<uint64_t>(site.counter_offset));
}

/// A moment, and RecordFlags that stop rules add.
struct Judged {
  Moment moment;
  uint8_t flags;
};

__attribute__((noinline)) Judged at_watched_entry(AgentThread thread, const Site& site,
                                                  const Record& record) {
  const WatchedCall call = watched_call(thread, record, record.object);
  RuleWatch watch(thread.shared, *thread.slot, site, call);
  if (site.effect == Effect::move_block) watch.forget_block();
  if (site.at_return != 0) watch.begun();
  if (site.at_return != 0 || site.effect == Effect::none)
    return {read_now(thread, site, record.object, site.counts_at_entry != 0), 0};
  Judged judged{};
  judged.flags = watch.at_entry(judged.moment);
  return judged;
}

// The count and the time of an event at the entry.
__attribute__((always_inline)) inline Judged at_entry(AgentThread thread, const Site& site,
                                                      const Record& record) {
  if (site.watch != 0 && record.object != 0) return at_watched_entry(thread, site, record);
  return {read_now(thread, site, record.object, site.counts_at_entry != 0), 0};
}

Judged at_return(AgentThread thread, const Site& site, const Record& record, uint64_t object) {
  const bool watched = site.watch != 0 && object != 0 && site.at_return != 0;
  if (!watched) return {read_now(thread, site, object, true), 0};
  const WatchedCall call = watched_call(thread, record, object);
  RuleWatch watch(thread.shared, *thread.slot, site, call);
  Judged judged{};
  judged.flags = watch.at_return(record.object, judged.moment);
  watch.ended();
  return judged;
}

/// A call of the agent at an entry, or at the instruction of an inlined copy.
struct ProbeHit {
  const Site* site;
  const Saved* saved;
  uint64_t rbp;
  uint64_t counter;  // for inlined copies only
  uint64_t operand;
};

// The object, and what the record has in `extra`.
__attribute__((always_inline)) inline uint64_t object_of(const ProbeHit& at, uint64_t& extra) {
  const Site* site = at.site;
  if (site->inlined != 0) {
    extra = at.operand;
    return at.counter - static_cast<uint64_t>(site->counter_offset);
  }
  if (site->size_argument != 0) {
    extra = argument(*at.saved, site->size_argument);
    if (site->times_argument != 0) extra *= argument(*at.saved, site->times_argument);
  }
  if (site->object_argument != 0) {
    const uint64_t object = argument(*at.saved, site->object_argument);
    if (site->pointer_at_entry == 0) return object;
    return plausible(object) ? load(object, 8) : 0;
  }
  return site->pool_argument != 0 ? argument(*at.saved, site->pool_argument) : 0;
}

// At the entry of the function that the site is in.
__attribute__((always_inline)) inline uint64_t function_sp_of(const ProbeHit& at) {
  if (at.site->by_frame_pointer != 0) return at.rbp + sizeof(uint64_t);
  const uint64_t stub_sp = reinterpret_cast<uint64_t>(at.saved) + sizeof(Saved);
  return stub_sp + static_cast<uint64_t>(int64_t{at.site->sp_bias});
}

// A thread that went back was not stopped there, and makes the call that is recorded already. It is not sent
// back again: whatever has become of the breakpoint, that would go on for ever.
__attribute__((noinline)) bool is_again(AgentThread thread, const ProbeHit& at) {
  const uint64_t sp = outermost_entry(function_sp_of(at));
  if (sp != thread.slot->sent.sp) return false;
  thread.slot->sent.site = 0;
  uint64_t extra = 0;
  const uint64_t object = object_of(at, extra);
  const WatchedCall call{object, extra, sp, *reinterpret_cast<const uint64_t*>(sp), thread.number()};
  RuleWatch watch(thread.shared, *thread.slot, *at.site, call);
  watch.begun();
  ask_debugger(*at.site, sp, true);
  watch.release();
  return true;
}

__attribute__((always_inline)) inline bool went_back(AgentThread thread, const ProbeHit& at) {
  return thread.slot != nullptr && thread.slot->sent.site == reinterpret_cast<uint64_t>(at.site) &&
         is_again(thread, at);
}

// All of the record but its publication. The flags are for decide.
__attribute__((always_inline)) inline uint8_t fill(const Activation& activation, Record& record,
                                                   const ProbeHit& at) {
  const Site* site = at.site;
  const uint64_t function_sp = function_sp_of(at);
  const uint64_t rbp = site->by_frame_pointer != 0 ? load(at.rbp, sizeof(uint64_t)) : at.rbp;
  const uint64_t entry_sp = outermost_entry(function_sp);
  record.kind = RecordKind::entry;
  uint64_t extra = 0;
  const uint64_t object = object_of(at, extra);
  // The counter's cache line comes while the stack is captured: the time stamp waits for it.
  __builtin_prefetch(reinterpret_cast<const void*>(object + static_cast<uint64_t>(site->counter_offset)), 1);
  record.object = object;
  record.sp = entry_sp;
  record.return_pc = *reinterpret_cast<const uint64_t*>(entry_sp);
  record.extra = extra;
  record.site = site->id;
  const uint8_t truncated = activation.capture_stack(record, function_sp, rbp);
  // Where the counter cannot be read, this is what the debugger finds.
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&record.flags, static_cast<uint8_t>(kCounting | truncated), __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const auto [moment, judged] = at_entry(activation.thread(), *site, record);
  uint8_t flags = truncated | judged | (moment.has_count ? kHasCount : 0);
  record.time = moment.time;
  record.count = moment.count;
  if (site->freed_words[0] != 0 && can_read_block(*activation.thread().shared, object)) {
    record.extra = word_of_block(object, site->freed_words[0]);
    record.count = word_of_block(object, site->freed_words[1]);
    flags |= kHasFreed;
  }
  record.flags = flags;
  return flags;
}

}  // namespace

// Returns what ask_debugger does; 0 when it need not be asked.
extern "C" __attribute__((used)) uint64_t refhist_agent_entry(const Site* site, Saved* saved, uint64_t rbp,
                                                              uint64_t counter, uint64_t operand) {
  if (site->last != 0 && load(counter, site->counter_size) != site->last) return 0;
  Activation activation(config(), reinterpret_cast<uint64_t>(saved));
  const ProbeHit at{site, saved, rbp, counter, operand};
  uint64_t index = 0;
  if (went_back(activation.thread(), at) || !activation.begin_record(index)) return 0;
  Record& record = activation.record(index);
  const uint8_t flags = fill(activation, record, at);
  const bool published = publish(*activation.thread().slot, record, index);
  note_birth(activation.thread(), *site, record.object, flags);
  if (site->heap != 0 && published)
    quarantine(config(), *activation.thread().shared, *activation.thread().slot, *site, *saved);
  return (flags & kCandidate) != 0 ? decide(activation.thread(), *site, record, published) : 0;
}

/// A record that is published once the instruction has run.
struct Attempt {
  Record* record;  ///< nullptr: none
  uint64_t index;
};

// Before a compare-and-exchange: the event has its place and time before it takes effect.
extern "C" __attribute__((used)) Attempt refhist_agent_attempt(const Site* site, const Saved* saved,
                                                               uint64_t rbp, uint64_t counter,
                                                               uint64_t operand) {
  Activation activation(config(), reinterpret_cast<uint64_t>(saved));
  uint64_t index = 0;
  if (!activation.begin_record(index)) return {nullptr, 0};
  Record& record = activation.record(index);
  fill(activation, record, ProbeHit{site, saved, rbp, counter, operand});
  record.count = saved->rax;  // what the counter is if this succeeds
  return {&record, index};
}

// Behind it.
extern "C" __attribute__((used)) void refhist_agent_attempted(Record* record, const Saved* saved,
                                                              uint64_t index) {
  constexpr uint64_t kZero = 1U << 14U;  // the flag, in what the stub saves
  if (record == nullptr) return;
  // The rings may be unmapped once the debugger is through with this memory.
  if (__atomic_load_n(&reinterpret_cast<const Control*>(config().control)->enabled, __ATOMIC_RELAXED) == 0)
    return;
  if ((saved->flags & kZero) == 0) record->kind = RecordKind::nothing;
  auto* shared = reinterpret_cast<Shared*>(config().shared);
  const uint64_t first = reinterpret_cast<uint64_t>(shared) + shared->rings;
  const uint64_t slot = (reinterpret_cast<uint64_t>(record) - first) / (kRingRecords * sizeof(Record));
  auto* slots = reinterpret_cast<ThreadSlot*>(reinterpret_cast<char*>(shared) + shared->slots);
  publish(slots[slot], *record, index);
}

// `saved` lies above the word that the stub has pushed: the object argument of the call. Above that is the
// return address of the call.
extern "C" __attribute__((used)) void refhist_agent_return(const Site* site, const Saved* saved) {
  Activation activation(config(), reinterpret_cast<uint64_t>(saved));
  uint64_t index = 0;
  if (!activation.begin_record(index)) return;
  Record& record = activation.record(index);
  record.kind = RecordKind::returned;
  const auto* pushed = reinterpret_cast<const uint64_t*>(saved + 1);
  const uint64_t passed = pushed[0];
  const uint64_t entry_sp = outermost_entry(reinterpret_cast<uint64_t>(pushed + 1));

  uint8_t flags = 0;
  uint64_t object = site->object_argument == 0 ? saved->rax : passed;
  uint64_t extra = passed;
  if (site->indirect != 0) {
    object = plausible(passed) ? load(passed, 8) : 0;
    extra = object;
    flags |= kHasPointed;
  }
  record.object = saved->rax;
  record.sp = entry_sp;
  record.return_pc = *reinterpret_cast<const uint64_t*>(entry_sp);
  record.extra = extra;
  record.site = site->id;
  const auto [moment, judged] = at_return(activation.thread(), *site, record, object);
  flags |= judged;
  if (moment.has_count) flags |= kHasCount;
  record.time = moment.time;
  record.count = moment.count;
  record.stack = 0;
  record.depth = 0;
  record.flags = flags;
  note_birth(activation.thread(), *site, object, flags);
  if (site->heap == kGivesBlock)
    note_enlarged(config(), *activation.thread().shared, *activation.thread().slot, saved->rax);
  if (publish(*activation.thread().slot, record, index) && (flags & kCandidate) != 0)
    ask_debugger(*site, entry_sp, false);
}

// The same place for a put that nothing is recorded of at its return.
extern "C" __attribute__((used)) void refhist_agent_end(const Site* site, const Saved* saved) {
  Activation activation(config(), reinterpret_cast<uint64_t>(saved));
  const AgentThread thread = activation.thread();
  if (thread.slot == nullptr) return;
  const uint64_t object = *reinterpret_cast<const uint64_t*>(saved + 1);
  const WatchedCall call{object, 0, 0, 0, 0};
  RuleWatch(thread.shared, *thread.slot, *site, call).ended();
}

namespace {
void count_instead_of_time(Shared& shared) {
  if (__atomic_load_n(&shared.no_stamps, __ATOMIC_RELAXED) != 0) return;
  uint32_t processor = 0;
  __atomic_store_n(&shared.last_stamp, ordered_time_stamp(processor), __ATOMIC_RELAXED);
  __atomic_store_n(&shared.no_stamps, 1U, __ATOMIC_RELEASE);
}

// From now on a system call of ours might end the program, and reading the time stamp counter in strict mode.
void confine(bool strict) {
  auto* shared = reinterpret_cast<Shared*>(config().shared);
  __atomic_store_n(&shared->confined, 1U, __ATOMIC_RELAXED);
  auto* walk = reinterpret_cast<WalkerShared*>(reinterpret_cast<char*>(shared) + shared->walk);
  __atomic_store_n(&walk->no_system_calls, 1U, __ATOMIC_RELAXED);
  if (strict) count_instead_of_time(*shared);
}

void before_prctl(uint64_t operation, uint64_t argument) {
  constexpr uint64_t kSetSeccomp = 22;
  constexpr uint64_t kStrict = 1;
  constexpr uint64_t kSetTsc = 26;
  if (operation == kSetSeccomp) confine(argument == kStrict);
  if (operation == kSetTsc) count_instead_of_time(*reinterpret_cast<Shared*>(config().shared));
}
}  // namespace

// The C library's prctl and syscall are about to be called: is it for a filter?
extern "C" __attribute__((used)) uint64_t refhist_agent_prctl(const Site*, const Saved* saved, uint64_t) {
  before_prctl(saved->rdi, saved->rsi);
  return 0;
}

extern "C" __attribute__((used)) uint64_t refhist_agent_syscall(const Site*, const Saved* saved, uint64_t) {
  constexpr uint64_t kPrctl = 157;
  constexpr uint64_t kSeccomp = 317;
  constexpr uint64_t kStrict = 0;
  if (saved->rdi == kSeccomp) confine(saved->rsi == kStrict);
  if (saved->rdi == kPrctl) before_prctl(saved->rsi, saved->rdx);
  return 0;
}

// Stands in for the dynamic linker's _dl_find_object where it is asked about our code: exceptions and thread
// cancellation unwind through the frames of watched calls. 0: not ours.
extern "C" __attribute__((used)) uint64_t refhist_agent_find_object(const Site*, const Saved* saved,
                                                                    uint64_t) {
  struct Found {  // struct dl_find_object
    uint64_t flags;
    uint64_t map_start;
    uint64_t map_end;
    uint64_t link_map;
    uint64_t eh_frame;
  };
  const uint64_t pc = saved->rdi;
  for (const Config::Piece& piece : config().code) {
    if (pc - piece.begin >= piece.size) continue;
    auto* found = reinterpret_cast<Found*>(saved->rsi);
    found->flags = 0;
    found->map_start = piece.begin;
    found->map_end = piece.begin + piece.size;
    found->link_map = 0;
    found->eh_frame = piece.begin + piece.size - kFrameBytes;
    return 1;
  }
  return 0;
}

}  // namespace refhist::agent
