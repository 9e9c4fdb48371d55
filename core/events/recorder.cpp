#include "events/recorder.h"

#include <algorithm>
#include <cstring>

#include "agent/site_values.h"
#include "base/text.h"
#include "events/program_access.h"

namespace refhist {

namespace {

constexpr Address kHeader = 64;  // bytes that a library puts before its object in the same allocation

bool succeeded(Success success, Address result) {
  return agent::call_succeeded(static_cast<unsigned>(success), result);
}

/// Of a block whose size the program gives: no further than memory reaches.
Address end_of(Address begin, std::uint64_t size) { return begin + std::min(size, ~begin); }

/// Code that counts by hand may store what was there before it took a reference, or one more.
bool may_store_both(const Site& site, const Family& family) {
  return site.in_place() && !family.has_role(Role::get) && !family.has_role(Role::try_get) &&
         !family.has_role(Role::put);
}

/// Nothing when the change is none that a copy of this function makes. What is added may be taken back.
std::optional<Role> role_of_change(const Site& site, std::int64_t delta, std::int64_t after,
                                   const Family& family) {
  if (site.role == Role::init) return after == family.born ? std::optional(Role::init) : std::nullopt;
  if (delta == 0) return std::nullopt;
  if ((delta > 0) == (direction(site.role) > 0)) return site.role;
  if (site.counter->kind != CounterInstruction::Kind::add && !may_store_both(site, family))
    return std::nullopt;
  return delta > 0 ? Role::get : Role::put;
}

bool stores_blindly(const CounterInstruction& instruction) {
  return instruction.kind == CounterInstruction::Kind::store && !instruction.opaque && !instruction.told_step;
}

bool covers(const Site& site, Address return_pc) {
  return site.armed && site.address < return_pc && return_pc <= site.address + site.size;
}
}  // namespace

class Recorder::ProgramContext final : public EventContext {
 public:
  ProgramContext(Recorder& recorder, const ProgramView& access, long tid)
      : access(access),
        tid(tid),
        told_before(access.told_before()),
        recorder_(recorder),
        thread_(recorder.calls_.thread(tid)) {}
  ~ProgramContext() override { thread_.told = recorder_.next_event(); }
  ProgramContext(const ProgramContext&) = delete;
  ProgramContext& operator=(const ProgramContext&) = delete;

  [[nodiscard]] std::vector<int> in_flight(ObjectId object) const override {
    std::vector<int> changes = recorder_.changes_in_flight(access, tid, object);
    if (told_before.valid()) {
      const ThreadIndex thread = recorder_.thread_index(access, tid);
      const std::vector<int> others = recorder_.late_changes_.around(told_before, object, thread);
      changes.insert(changes.end(), others.begin(), others.end());
    }
    return changes;
  }
  [[nodiscard]] std::vector<int> after_the_look(ObjectId object) const override {
    if (!access.time_ns()) return {};  // it happens now
    const ThreadIndex thread = recorder_.thread_index(access, tid);
    if (!thread_.told.valid()) return recorder_.late_changes_.ever(object, thread);
    return recorder_.late_changes_.since(thread_.told, object, thread);
  }
  [[nodiscard]] bool inside_put(ObjectId object) const override {
    const auto& open = thread_.open;
    return std::any_of(open.begin(), open.end(),
                       [&](const OpenCall& call) { return call.object == object && call.delta < 0; });
  }
  [[nodiscard]] MemoryFate memory_fate(FamilyId family, Address address) const override {
    return recorder_.memory_fate(family, address);
  }
  [[nodiscard]] bool may_miss_puts(FamilyId family, StackId stack) const override {
    return recorder_.may_miss_puts(family, stack);
  }

  const ProgramView& access;
  const long tid;
  EventId told_before;  // events from this one on may have come after the counter was read

 private:
  Recorder& recorder_;
  ThreadCalls& thread_;
};

std::uint64_t Recorder::now() const {
  const auto passed = std::chrono::steady_clock::now() - start_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count());
}

void Recorder::forget_process() {
  calls_.clear();
  thread_names_.forget();
  allocations_.clear();
  block_sizes_ = {};
  pools_.clear();
  callers_.forget();
  late_changes_.forget();
  second_owners_.forget();
}

void Recorder::forget_family(FamilyId family) {
  const auto of_family = [&](SiteId site) { return site.valid() && sites_.get(site).family == family; };
  for (auto& [tid, calls] : calls_.threads()) {
    std::erase_if(calls.pending, [&](const PendingCall& call) { return of_family(call.site); });
    std::erase_if(calls.open, [&](const OpenCall& call) { return of_family(call.site); });
  }
  allocations_.forget_if([&](const Block& block) { return of_family(block.site); });
}

bool Recorder::awaits_return_to(Address address) {
  return std::any_of(calls_.threads().begin(), calls_.threads().end(), [&](const auto& thread) {
    return std::any_of(thread.second.pending.begin(), thread.second.pending.end(),
                       [&](const PendingCall& call) { return call.return_pc == address; });
  });
}

ThreadIndex Recorder::thread_index(const ProgramView& access, long tid) {
  const ThreadIndex known = access.thread();
  return known.valid() ? known : history_.thread(tid, access.thread_name(tid, thread_names_));
}

const RecordedStack& Recorder::capture_stack(const ProgramView& access, const Registers& registers,
                                             RecordedStack& walked) {
  if (const RecordedStack* recorded = access.stack()) {
    if (recorded->truncated) ++truncated_;
    return *recorded;
  }
  const auto read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, true);
  };
  walked.truncated = !unwinder_.unwind(registers, read, UnwindOptions{}, walked.frames);
  if (walked.truncated) ++truncated_;
  walked.id = intern(walked.frames, walked.truncated);
  return walked;
}

StackId Recorder::intern(std::span<const RawFrame> frames, bool truncated) {
  std::vector<StackFrame> stack;
  stack.reserve(frames.size());
  for (const RawFrame& frame : frames) {
    Address pc = frame.pc;
    const LoadedModule* module = modules_.at(frame.exact ? pc : pc - 1);
    if (module != nullptr && !module->id.valid()) {
      pc = modules_.original(pc);
      if (pc == 0) continue;  // the agent's own frames are nobody's
      module = modules_.at(frame.exact ? pc : pc - 1);
    }
    stack.push_back(module != nullptr ? StackFrame{module->id, pc - module->bias, frame.exact}
                                      : StackFrame{ModuleId(), pc, frame.exact});
  }
  return history_.stacks().intern(stack, truncated);
}

bool Recorder::part_of_outer_call(const ThreadCalls& thread, const Call& call) const {
  const Site& inner = sites_.get(call.site);
  return std::any_of(thread.open.begin(), thread.open.end(), [&](const OpenCall& outer) {
    if (outer.address != call.object || outer.site == call.site || outer.before != call.before) return false;
    const Site& site = sites_.get(outer.site);
    if (site.family != inner.family || direction(site.role) != direction(inner.role)) return false;
    const bool further_in = inner.counter ? outer.sp >= call.sp : outer.sp > call.sp;
    const bool called_by_it = further_in && covers(site, call.return_pc);
    const bool tail_called = outer.sp == call.sp && outer.return_pc == call.return_pc;
    return called_by_it || tail_called;
  });
}

Count Recorder::read_count(const ProgramView& access, FamilyId family, Address object) const {
  const TrackedFamily& tracked = families_[family.index()];
  if (!tracked.counter || object == 0) return std::nullopt;
  return access.read_count(*tracked.counter, tracked.family.counter, object);
}

void Recorder::settle(ProgramContext& around, const Execution& execution, Count& count) {
  constexpr int kMostLooks = 20;
  const bool happens_now = !around.access.time_ns();
  if (!catch_up_ || !happens_now) return;
  for (int looks = 1; count; ++looks) {
    const ObjectId id = history_.newest_at(execution.family, execution.address);
    if (!id.valid()) return;
    const Object& object = history_.object(id);
    const std::int64_t own = execution.at_return ? direction(execution.role) : 0;
    if (!object.base_known || *count == object.ledger + own) return;
    around.told_before = next_event();
    // The call that returns has changed the counter, and is neither pending nor told.
    returning_ = {execution.address, static_cast<int>(-own)};
    catch_up_();
    returning_ = {};
    if (next_event() == around.told_before) {
      around.told_before = {};
      return;
    }
    if (looks == kMostLooks) return;
    count = read_count(around.access, execution.family, execution.address);
  }
}

Recorder::CounterLook Recorder::look_at_counter(const ProgramView& access, ObjectId id) {
  const Object& object = history_.object(id);
  const Count memory = read_count(access, object.family, object.address);
  const bool told = !memory || !object.base_known || *memory == object.ledger ||
                    explained_by(object.ledger, *memory, changes_in_flight(access, -1, id));
  return {memory, told};
}

bool Recorder::may_miss_puts(FamilyId family, StackId stack) const {
  const auto function = [&](const LoadedModule* loaded, Address address) {
    const auto symbol = loaded == nullptr ? std::nullopt : loaded->module->function_at(address);
    return symbol ? std::string(clone_base(symbol->name)) : std::string();
  };
  const std::vector<StackFrame> frames = history_.stacks().frames(stack);
  bool any_armed = false;
  for (const Site& site : sites_.all()) {
    if (site.family != family || site.role != Role::put || !site.current) continue;
    any_armed |= site.why_not.empty();
    if (!site.inlined || site.why_not.empty()) continue;
    const std::string within = function(modules_.get(site.module), site.file_address);
    const bool on_stack = std::any_of(frames.begin(), frames.end(), [&](const StackFrame& frame) {
      return frame.module == site.module && function(modules_.get(frame.module), frame.pc - 1) == within;
    });
    if (on_stack && !within.empty()) return true;
  }
  return !any_armed;
}

Event Recorder::event_here(const ProgramView& access, long tid, const Registers& registers) {
  RecordedStack walked;
  Event event;
  event.time_ns = time_of(access);
  event.thread = thread_index(access, tid);
  if (options_.stacks) event.stack = capture_stack(access, registers, walked).id;
  return event;
}

EventId Recorder::on_use(const ProgramView& access, long tid, const Registers& registers, ObjectId id,
                         SiteId put) {
  Event event = event_here(access, tid, registers);
  event.object = id;
  event.site = put;
  event.role = put.valid() ? Role::put : Role::use;
  return history_.add_event(event);
}

bool Recorder::on_seen_change(const ProgramView& access, long tid, const Registers& registers, ObjectId id) {
  const CounterLook look = look_at_counter(access, id);
  if (!look.count || look.explained) return false;
  Registers behind = registers;
  behind[kRip] -= 1;  // in the instruction that did it
  ledger_.note_change(id, *look.count, event_here(access, tid, behind));
  return true;
}

std::vector<int> Recorder::changes_in_flight(const ProgramView& access, long tid, ObjectId object) {
  const Address address = history_.object(object).address;
  std::vector<int> changes;
  if (returning_.change != 0 && returning_.object == address) changes.push_back(returning_.change);
  for (auto& [other, calls] : calls_.threads()) {
    // A try_get is recorded at its return, but may have changed the counter before that.
    for (const PendingCall& call : calls.pending) {
      if (call.watch < 0 && call.argument == address)
        changes.push_back(-direction(sites_.get(call.site).role));
    }
    const bool touches = std::any_of(calls.open.begin(), calls.open.end(),
                                     [&](const OpenCall& call) { return call.object == object; });
    if (!touches) continue;
    for (const OpenCall& call : calls.open) {
      if (call.object == object) changes.push_back(static_cast<int>(call.delta));
    }
    if (other == tid) continue;
    // The other thread may have left its call between our look at the counter and now: the call still
    // explains a difference this time, and never again. A thread whose registers cannot be read runs: it may
    // be anywhere.
    if (const auto registers = access.registers(other)) {
      std::erase_if(calls.open, [&](const OpenCall& call) {
        const bool executed = call.copy_end != 0 && registers->pc() != sites_.get(call.site).address;
        return executed || registers->sp() > call.sp;
      });
    } else if (!access.thread_lives(other)) {
      calls.open.clear();
      calls.pending.clear();
    }
  }
  return changes;
}

std::unordered_set<ObjectId> Recorder::objects_in_calls() {
  std::unordered_set<ObjectId> objects;
  for (const auto& [tid, thread] : calls_.threads()) {
    for (const OpenCall& call : thread.open) objects.insert(call.object);
  }
  return objects;
}

EventId Recorder::oldest_watched() {
  EventId oldest;  // an invalid id is larger than all others
  for (const auto& [tid, thread] : calls_.threads()) {
    for (const PendingCall& call : thread.pending) {
      if (call.watch >= 0) oldest = std::min(oldest, call.first_inside);
    }
  }
  return oldest;
}

Execution Recorder::make_arrival(const ProgramContext& around, FamilyId family, SiteId id, Address object,
                                 std::optional<Role> role) {
  Execution execution;
  execution.family = family;
  execution.traits = families_[family.index()].traits;
  execution.site = id;
  execution.role = role.value_or(sites_.get(id).role);
  execution.address = object;
  execution.size = families_[family.index()].object_size;
  execution.thread = thread_index(around.access, around.tid);
  execution.time_ns = time_of(around.access);
  execution.around = &around;
  const bool birth =
      execution.role == Role::init || execution.role == Role::alloc || execution.role == Role::realloc;
  if (!birth || allocations_.count() == 0) return execution;
  if (families_[family.index()].family.has_control_blocks()) block_sizes_.any_may_hold();
  const Block* block = allocations_.covering(object);
  if (block != nullptr) block_sizes_.holds_object(block->size);
  // Further in it is a slab or an arena of another allocator, whose extent says nothing about the object.
  if (block != nullptr && object - block->begin <= kHeader) {
    execution.memory =
        Memory{block->site, block->thread, block->stack, block->time_ns, block->begin + block->size - object};
  }
  return execution;
}

Execution Recorder::arrival_for(ProgramContext& around, ObjectId object, SiteId site, StackId stack) {
  const FamilyId family = history_.object(object).family;
  const Address address = history_.object(object).address;
  Execution execution = make_arrival(around, family, site, address);
  execution.stack = stack;
  execution.before = read_count(around.access, family, address);
  settle(around, execution, execution.before);
  return execution;
}

void Recorder::leave_out(const ProgramView& access, const Site& site, const Registers& registers) {
  ++excluded_calls_;
  if (site.watches_return() || direction(site.role) == 0)
    return;  // a birth left out: the object is seen mid-life
  Address object = registers.argument(site.object.argument) + static_cast<Address>(site.object.adjust);
  if (site.object.indirect && !access.read_word(object, object)) return;
  ledger_.adjust(site.family, object, direction(site.role));
}

void Recorder::on_entry(const ProgramView& access, long tid, const Registers& registers, SiteId site_id,
                        std::vector<Recorded>& recorded, std::optional<Address>& arm_return) {
  Site& site = sites_.get(site_id);
  ++site.hits;
  if (site.counter) return on_counter_site(access, tid, registers, site_id, recorded, arm_return);
  Call call{site_id, 0, registers.sp(), 0, std::nullopt};
  if (!access.read_word(call.sp, call.return_pc)) call.return_pc = 0;
  if (callers_.excluded(call.return_pc)) {
    return leave_out(access, site, registers);
  }
  if (callers_.is_inner(families_[site.family.index()], site, call.return_pc)) return;
  ThreadCalls& thread = calls_.thread(tid);
  if (site.object.from == ObjectSource::From::argument) {
    call.object = registers.argument(site.object.argument) + static_cast<Address>(site.object.adjust);
    const bool pointer_later = site.object.indirect && site.watches_return();
    if (site.object.indirect && !pointer_later && !access.read_word(call.object, call.object)) {
      call.object = 0;
    }
    if (call.object == 0 && site.role != Role::realloc) {
      ++families_[site.family.index()].null_puts;
      return;
    }
    if (!pointer_later && !families_[site.family.index()].family.allocator) {
      call.before = read_count(access, site.family, call.object);
      if (is_no_pointer(site, call)) {
        ++families_[site.family.index()].null_puts;
        return;
      }
      if (part_of_outer_call(thread, call)) return;
    }
  }
  on_probe(access, thread, registers, call, recorded, arm_return);
}

// Tagged integers and error codes, which the function lets pass: no object lies there, and none ever has.
bool Recorder::is_no_pointer(const Site& site, const Call& call) const {
  const auto& counter = families_[site.family.index()].counter;
  if (!counter || direction(site.role) == 0 || site.watches_return()) return false;
  constexpr Address kLow = Address{1} << 32U;   // nothing lies here but programs that are not relocated
  constexpr Address kHigh = Address{1} << 47U;  // the kernel's
  const bool misplaced = (call.object + counter->offset) % std::max<Address>(counter->size, 1) != 0;
  const bool nowhere = !call.before && (call.object < kLow || call.object >= kHigh);
  return (misplaced || nowhere) && !history_.newest_at(site.family, call.object).valid();
}

bool Recorder::agrees(FamilyId family, const Call& call) const {
  const ObjectId id = history_.newest_at(family, call.object);
  return id.valid() && history_.object(id).base_known && history_.object(id).ledger == *call.before;
}

void Recorder::on_counter_site(const ProgramView& access, long tid, const Registers& registers,
                               SiteId site_id, std::vector<Recorded>& recorded,
                               std::optional<Address>& arm_return) {
  const Site& site = sites_.get(site_id);
  if (!families_[site.family.index()].counter) return;
  const CounterInstruction& instruction = *site.counter;
  CounterStep step{site_id, instruction.counter(registers, site.address - site.file_address), registers.sp(),
                   0, 0};
  const bool may_fail = instruction.kind == CounterInstruction::Kind::compare_exchange;
  if (may_fail && access.can_stop_behind() && access.threads().size() > 1) {
    std::memcpy(&step.before, &registers.value[kRax], instruction.size);
    arm_return = await_attempt(access, tid, registers, step);
    return;
  }
  const std::size_t size = instruction.span(families_[site.family.index()].counter->size);
  if (access.read_memory(step.operand, &step.before, size, true) != size) return;
  const auto after = instruction.after(registers, step.before);
  if (!after) return;
  step.after = *after;
  on_counter_change(access, tid, registers, step, recorded);
}

std::optional<Address> Recorder::await_attempt(const ProgramView& access, long tid,
                                               const Registers& registers, const CounterStep& step) {
  const CounterInstruction& instruction = *sites_.get(step.site).counter;
  const auto after = instruction.after(registers, step.before);
  if (!after) return std::nullopt;
  PendingCall attempt;
  attempt.site = step.site;
  attempt.sp = step.sp - sizeof(Address);  // it "returns" with the stack pointer as it is
  attempt.return_pc = registers.pc() + instruction.length;
  attempt.argument = step.operand - families_[sites_.get(step.site).family.index()].counter->offset;
  attempt.time_ns = time_of(access);
  attempt.expected = step.before;
  attempt.exchanged = *after;
  CallTracker::add_pending(calls_.thread(tid), attempt);
  return attempt.return_pc;
}

// A compare-and-exchange that fails loads what it has found.
void Recorder::attempted(const ProgramView& access, long tid, const Registers& registers,
                         const PendingCall& call, std::vector<Recorded>& recorded) {
  const CounterInstruction& instruction = *sites_.get(call.site).counter;
  std::uint64_t found = 0;
  std::memcpy(&found, &registers.value[kRax], instruction.size);
  if (found != call.expected) return;
  const Address operand = call.argument + families_[sites_.get(call.site).family.index()].counter->offset;
  on_counter_change(access, tid, registers,
                    {call.site, operand, call.sp, call.expected, call.exchanged, true}, recorded);
}

void Recorder::on_counter_change(const ProgramView& access, long tid, const Registers& registers,
                                 const CounterStep& step, std::vector<Recorded>& recorded) {
  Site& leader = sites_.get(step.site);
  change_count(access, tid, registers, step, leader, recorded);
  for (const SiteId other : leader.colocated) {
    CounterStep same = step;
    same.site = other;
    ++sites_.get(other).hits;
    change_count(access, tid, registers, same, sites_.get(other), recorded);
  }
}

bool Recorder::is_live(FamilyId family, Address object) const {
  const ObjectId id = history_.newest_at(family, object);
  return id.valid() && history_.object(id).state == ObjectState::live;
}

// Of a birth and what comes right after it, compilers make one store, over memory that holds no count yet.
bool Recorder::continues_count(const ProgramContext& around, FamilyId family, const Call& call,
                               std::int64_t delta) const {
  if (is_live(family, call.object)) return true;
  return (delta == 1 || delta == -1) &&
         around.memory_fate(family, call.object) != MemoryFate::handed_out_again;
}

void Recorder::change_count(const ProgramView& access, long tid, const Registers& registers,
                            const CounterStep& step, const Site& site, std::vector<Recorded>& recorded) {
  const TrackedFamily& tracked = families_[site.family.index()];
  const CounterInstruction& instruction = *site.counter;
  const auto count = [&](std::uint64_t bytes) {
    return ProgramAccess::count_from(instruction.part(bytes, tracked.counter->size), *tracked.counter,
                                     tracked.family.counter);
  };
  const Address object = step.operand + instruction.within - tracked.counter->offset;
  if (site.known_objects_only && !is_known(site, object)) return;
  Call call{step.site, object, step.sp, site.address + 1, count(step.before)};
  const std::int64_t after = instruction.opaque ? tracked.family.born : count(step.after);
  const std::int64_t delta = after - *call.before;
  std::optional<Role> role = role_of_change(site, delta, after, tracked.family);
  if (!role) return;
  ThreadCalls& thread = calls_.thread(tid);
  ProgramContext around(*this, access, thread.tid);
  const bool joined =
      role != Role::init && stores_blindly(instruction) && !continues_count(around, site.family, call, delta);
  if (joined) role = Role::init;
  if (joined && after < std::min<std::int64_t>(tracked.family.born, 1)) return;
  if (callers_.excluded(call.return_pc)) {
    ++excluded_calls_;
    if (role != Role::init) ledger_.adjust(site.family, call.object, delta);
    return;
  }
  if (role != Role::init && part_of_outer_call(thread, call)) return;
  const StackId stack = enter(access, thread, registers, call.sp);
  Execution execution = make_arrival(around, site.family, call.site, call.object, role);
  execution.stack = stack;
  if (joined) {
    execution.after = after;
    execution.at_return = true;
  }
  if (role != Role::init) {
    if (!step.past || agrees(site.family, call)) execution.before = call.before;
    settle(around, execution, execution.before);
    execution.amount = delta < 0 ? -delta : delta;
  }
  Outcome outcome = ledger_.apply(execution);
  if (!outcome.object.valid()) {
    ++families_[site.family.index()].unborn_calls;
    return;
  }
  if (role != Role::init) {
    const Address bias = site.address - site.file_address;
    thread.open.push_back(OpenCall{call.site, outcome.object, call.object, call.sp, call.return_pc, delta,
                                   call.before, site.copy.begin + bias, site.copy.end + bias});
  }
  recorded.push_back(Recorded{call.site, call.object, call.before, std::move(outcome)});
}

bool Recorder::on_ordinary_entry(const OrdinaryCall& ordinary) {
  if (!options_.excluded.empty()) return false;
  static const RecordedStack kNoStack;
  const RecordedStack& stack = options_.stacks ? *ordinary.stack : kNoStack;
  const Call& call = ordinary.call;
  Site& site = sites_.get(call.site);
  const ObjectId object = history_.newest_at(site.family, call.object);
  if (!object.valid()) return false;
  ThreadCalls& thread = calls_.thread(ordinary.tid);
  if (part_of_outer_call(thread, call)) return false;
  Event event;
  event.time_ns = ordinary.time_ns;
  event.object = object;
  event.site = call.site;
  event.thread = ordinary.thread;
  event.stack = stack.id;
  event.role = site.role;
  event.before = *call.before;  // the value alone: both words at once would wait for the stores
  if (!ledger_.apply_ordinary(event, *ordinary.origin)) return false;
  thread.told = next_event();
  ++site.hits;
  if (stack.truncated) ++truncated_;
  OpenCall& open = CallTracker::open_next(thread, call.sp, stack);
  open.site = call.site;
  open.object = object;
  open.address = call.object;
  open.sp = call.sp;
  open.return_pc = call.return_pc;
  open.delta = direction(site.role);
  open.before = call.before;
  const Address bias = site.address - site.file_address;
  open.copy_begin = site.counter ? site.copy.begin + bias : 0;
  open.copy_end = site.counter ? site.copy.end + bias : 0;
  return true;
}

std::uint64_t Recorder::time_of(const ProgramView& access) const {
  const auto recorded = access.time_ns();
  return recorded ? *recorded : now();
}

PendingCall Recorder::make_pending(const ProgramView& access, const Call& call, const Site& site,
                                   const Registers& registers, StackId stack) const {
  PendingCall pending;
  pending.site = call.site;
  pending.sp = call.sp;
  pending.return_pc = call.return_pc;
  pending.argument = call.object;
  pending.before = call.before;
  pending.stack = stack;
  pending.time_ns = time_of(access);
  pending.first_inside = EventId(history_.event_count());
  if (site.pool_argument != 0) pending.pool = registers.argument(site.pool_argument);
  if (site.size_argument != 0) pending.size = registers.argument(site.size_argument);
  if (site.times_argument != 0) pending.size *= registers.argument(site.times_argument);
  return pending;
}

StackId Recorder::enter(const ProgramView& access, ThreadCalls& thread, const Registers& registers,
                        Address sp) {
  RecordedStack none;
  const RecordedStack& walked = options_.stacks ? capture_stack(access, registers, none) : none;
  CallTracker::close_finished(thread, sp, walked.frames, [&](Address slot, Address return_pc) {
    return access.overwritten(slot, return_pc);
  });
  return walked.id;
}

void Recorder::on_probe(const ProgramView& access, ThreadCalls& thread, const Registers& registers,
                        Call& call, std::vector<Recorded>& recorded, std::optional<Address>& arm_return) {
  const Site& site = sites_.get(call.site);
  const StackId stack = enter(access, thread, registers, call.sp);
  ProgramContext around(*this, access, thread.tid);
  if (site.watches_return()) {
    CallTracker::add_pending(thread, make_pending(access, call, site, registers, stack));
    arm_return = call.return_pc;
    return;
  }
  if (site.role == Role::pool_destroy) return destroy_pool(around, call.site, stack, call.object, recorded);
  if (families_[site.family.index()].family.allocator) {
    const std::uint64_t size = site.size_argument == 0 ? 1 : registers.argument(site.size_argument);
    return give_back(around, call.site, stack, call.object, end_of(call.object, size), recorded);
  }
  Execution execution = make_arrival(around, site.family, call.site, call.object);
  execution.stack = stack;
  if (site.role != Role::init && site.role != Role::alloc) {
    settle(around, execution, call.before);
    execution.before = call.before;
  }
  Outcome outcome = ledger_.apply(execution);
  if (!outcome.object.valid()) {
    ++families_[site.family.index()].unborn_calls;
    return;
  }
  if (direction(site.role) != 0) {
    thread.open.push_back(OpenCall{call.site, outcome.object, call.object, call.sp, call.return_pc,
                                   direction(site.role), call.before, 0, 0});
  }
  recorded.push_back(Recorded{call.site, call.object, call.before, std::move(outcome)});
}

void Recorder::give_back(ProgramContext& around, SiteId site, StackId stack, Address begin, Address end,
                         std::vector<Recorded>& recorded) {
  if (const auto block = allocations_.take(begin, sites_.get(site).family)) {
    end = std::max(end, end_of(begin, std::max<std::uint64_t>(block->size, 1)));
    block_sizes_.freed(*block, history_);
  }
  allocations_.take_inside(begin, end);
  std::vector<ObjectId> ending = history_.starting_in(begin, end);
  std::erase_if(ending, [&](ObjectId id) {
    const Object& object = history_.object(id);
    const bool here =
        object.state == ObjectState::live || (object.state == ObjectState::dead && !object.freed);
    return !here || history_.newest_at(object.family, object.address) != id;
  });
  std::vector<std::size_t> of_family(ending.size() > 1 ? families_.size() : 0);
  if (!of_family.empty()) {
    for (const ObjectId id : ending) ++of_family[history_.object(id).family.index()];
  }
  for (const ObjectId id : ending) {
    note_owned(around.access, id);
    Execution execution = arrival_for(around, id, site, stack);
    execution.among_others = !of_family.empty() && of_family[execution.family.index()] > 1;
    recorded.push_back(Recorded{site, execution.address, execution.before, ledger_.apply(execution)});
  }
}

void Recorder::destroy_pool(ProgramContext& around, SiteId site, StackId stack, Address pool,
                            std::vector<Recorded>& recorded) {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return;
  for (const ObjectId id : found->second) {
    if (!history_.objects().contains(id) || history_.object(id).state != ObjectState::live) continue;
    const Execution execution = arrival_for(around, id, site, stack);
    recorded.push_back(Recorded{site, execution.address, execution.before, ledger_.apply(execution)});
  }
  pools_.erase(found);
}

void Recorder::move_objects(const ProgramContext& around, const PendingCall& call, const Block& from,
                            Address to) {
  for (const ObjectId id :
       history_.starting_in(from.begin, end_of(from.begin, std::max<std::uint64_t>(from.size, 1)))) {
    const Object& object = history_.object(id);
    if (object.state != ObjectState::live) continue;
    const Address address = to + (object.address - from.begin);
    if (address == object.address) {
      history_.object(id).size = to + call.size - address;
      continue;
    }
    Execution execution = make_arrival(around, object.family, call.site, address);
    execution.stack = call.stack;
    ledger_.move(id, address, execution);
  }
}

void Recorder::allocation_returned(ProgramContext& around, const PendingCall& call, Address result,
                                   std::vector<Recorded>& recorded) {
  const Site& site = sites_.get(call.site);
  Address begin = result;
  if (site.object.indirect && !around.access.read_word(call.argument, begin)) return;
  const bool failed =
      begin == 0 || begin >= ~Address{4095} || !succeeded(site.success, result);  // NULL, MAP_FAILED
  // What realloc moves may be another thread's by the time that it returns.
  const bool again = site.role == Role::realloc && call.argument != 0 &&
                     !allocations_.handed_out_since(call.argument, site.family, call.time_ns);
  if (failed) {
    // realloc(p, 0) gives p back; any other failure leaves it as it was.
    if (again && call.size == 0)
      give_back(around, call.site, call.stack, call.argument, end_of(call.argument, 1), recorded);
    return;
  }
  Block old{call.argument, 1, {}, {}, {}, {}, 0, 0};
  if (again) {
    if (const auto known = allocations_.take(call.argument, site.family)) old = *known;
  }
  const ThreadIndex thread = thread_index(around.access, around.tid);
  const std::uint64_t now = time_of(around.access);
  allocations_.add(Block{begin, call.size, call.site, site.family, thread, call.stack, call.time_ns, now},
                   families_[site.family.index()].family.cuts_blocks());
  if (again) move_objects(around, call, old, begin);
}

void Recorder::on_watched_entry(const ProgramView& access, long tid, const Registers& registers, int watch,
                                std::optional<Address>& arm_return) {
  PendingCall pending;
  pending.watch = watch;
  pending.sp = registers.sp();
  if (!access.read_word(pending.sp, pending.return_pc)) return;
  pending.first_inside = EventId(history_.event_count());
  ThreadCalls& thread = calls_.thread(tid);
  CallTracker::add_pending(thread, pending);
  arm_return = pending.return_pc;
}

void Recorder::finish(ProgramContext& around, const PendingCall& call, Address result,
                      std::vector<Recorded>& recorded) {
  const ProgramView& access = around.access;
  const Site& site = sites_.get(call.site);
  const bool good = succeeded(site.success, result);
  Address object = call.argument;
  if (site.returns_object()) object = result == 0 ? 0 : result + static_cast<Address>(site.object.adjust);
  if (site.object.indirect && good && !access.read_word(call.argument, object)) return;
  if (object == 0 || (!good && (site.returns_object() || site.object.indirect))) {
    return;
  }
  Execution execution = make_arrival(around, site.family, call.site, object);
  execution.stack = call.stack;
  execution.before = call.before;
  execution.after = read_count(access, site.family, object);
  execution.failed = !good;
  execution.may_exist = site.may_exist;
  execution.at_return = true;
  settle(around, execution, execution.after);
  execution.first_inside = call.first_inside;
  Outcome outcome = ledger_.apply(execution);
  if (call.pool != 0 && outcome.object.valid()) pools_[call.pool].push_back(outcome.object);
  recorded.push_back(Recorded{call.site, object, call.before, std::move(outcome)});
}

void Recorder::on_return(const ProgramView& access, long tid, const Registers& registers,
                         std::vector<Recorded>& recorded, std::vector<PendingCall>& watched) {
  ThreadCalls& thread = calls_.thread(tid);
  ProgramContext around(*this, access, tid);
  while (const auto call = CallTracker::take_returned(thread, registers.pc(), registers.sp())) {
    // A get or put inside the call, at or below its frame, has taken effect by now.
    std::erase_if(thread.open, [&](const OpenCall& open) { return open.sp <= call->sp; });
    if (call->watch < 0 && sites_.get(call->site).counter) {
      attempted(access, tid, registers, *call, recorded);
    } else if (call->watch >= 0) {
      watched.push_back(*call);
    } else if (families_[sites_.get(call->site).family.index()].family.allocator) {
      allocation_returned(around, *call, registers[kRax], recorded);
    } else if (sites_.get(call->site).role == Role::pool_create) {
      pools_[registers[kRax]].clear();
    } else {
      finish(around, *call, registers[kRax], recorded);
    }
  }
}

}  // namespace refhist
