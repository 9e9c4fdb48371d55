#include "agent_host/replay.h"

#include <x86intrin.h>

#include <array>
#include <chrono>

#include "events/program_access.h"

namespace refhist {

namespace {

constexpr Address kPlaceOfPointer = 1;  // stands for the place that an indirect argument names

double measure_ns_per_tick() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLong{2};
  const auto begin = Clock::now();
  const std::uint64_t first = __rdtsc();
  while (Clock::now() - begin < kLong) {
  }
  const std::uint64_t ticks = __rdtsc() - first;
  const std::chrono::duration<double, std::nano> passed = Clock::now() - begin;
  return passed.count() / static_cast<double>(ticks);
}

// The program as it was when the record was made: no more than the record knows.
class RecordView final : public ProgramView {
 public:
  /// `counted`: the object whose counter the record has.
  RecordView(const RecordBatch& batch, const agent::Record& record, Address counted, std::uint64_t time_ns,
             const RecordedStack& stack, const Replay::MemoryReader& memory, const FreedWords& freed)
      : batch_(batch),
        record_(record),
        counted_(counted),
        time_ns_(time_ns),
        stack_(stack),
        memory_(memory),
        freed_(freed) {}

  [[nodiscard]] std::optional<Registers> registers(long) const override { return std::nullopt; }
  [[nodiscard]] bool read_word(Address address, Address& word) const override {
    if (address == record_.sp) {
      word = record_.return_pc;
      return true;
    }
    if (const auto bytes = freed_.bytes_at(record_, address - record_.object, sizeof word)) {
      word = *bytes;
      return true;
    }
    const bool entry = record_.kind == agent::RecordKind::entry;
    if (!entry && (record_.flags & agent::kHasPointed) == 0) return false;
    word = entry ? record_.object : record_.extra;
    return entry ? address == kPlaceOfPointer : true;
  }
  // A call further in may be on another stack (a coroutine): it is over when it returns or its place is used.
  [[nodiscard]] bool overwritten(Address, Address) const override { return false; }
  [[nodiscard]] Count read_count(const MemberPlace& place, const CounterSpec& spec,
                                 Address object) const override {
    if ((record_.flags & agent::kHasCount) != 0 && object == counted_)
      return ProgramAccess::count_from(record_.count, place, spec);
    if (const auto bytes = freed_.bytes_at(record_, object + place.offset - record_.object, place.size))
      return ProgramAccess::count_from(*bytes, place, spec);
    // The thread waits in this call for the debugger's answer: an object in memory that it frees is still
    // there.
    const bool waits = record_.kind == agent::RecordKind::entry && (record_.flags & agent::kCandidate) != 0;
    std::uint64_t raw = 0;
    if (!waits || place.size == 0 || place.size > sizeof raw ||
        !memory_(object + place.offset, &raw, place.size))
      return std::nullopt;
    return ProgramAccess::count_from(raw, place, spec);
  }
  [[nodiscard]] std::string thread_name(long, ThreadNames&) const override { return batch_.thread_name; }
  [[nodiscard]] bool thread_lives(long) const override { return true; }
  [[nodiscard]] std::size_t read_memory(Address, void*, std::size_t, bool) const override { return 0; }
  [[nodiscard]] ThreadIndex thread() const override { return batch_.thread; }
  [[nodiscard]] std::optional<std::uint64_t> time_ns() const override { return time_ns_; }
  [[nodiscard]] EventId told_before() const override {
    return record_.time <= batch_.late_until ? batch_.told_before : EventId();
  }
  [[nodiscard]] const RecordedStack* stack() const override { return &stack_; }

 private:
  const RecordBatch& batch_;
  const agent::Record& record_;
  Address counted_;
  std::uint64_t time_ns_;
  const RecordedStack& stack_;
  const Replay::MemoryReader& memory_;
  const FreedWords& freed_;
};

Registers entry_registers(const Site& site, const agent::Record& record) {
  Registers registers;
  registers[kRsp] = record.sp;
  registers[kRip] = site.address;
  if (site.times_argument != 0)
    registers[kArgumentRegisters[site.times_argument - 1]] = 1;  // multiplied by the agent
  if (site.size_argument != 0) registers[kArgumentRegisters[site.size_argument - 1]] = record.extra;
  if (site.pool_argument != 0) registers[kArgumentRegisters[site.pool_argument - 1]] = record.object;
  if (site.object.from == ObjectSource::From::argument) {
    const bool read_by_agent = site.object.indirect && !site.watches_return();
    registers[kArgumentRegisters[site.object.argument - 1]] = read_by_agent ? kPlaceOfPointer : record.object;
  }
  return registers;
}

Address counted_object(const Site& site, const agent::Record& record) {
  if (record.kind == agent::RecordKind::entry)
    return record.object + static_cast<Address>(site.object.adjust);
  const bool result = site.returns_object();
  if (!result || site.object.indirect) return record.extra;
  return record.object == 0 ? 0 : record.object + static_cast<Address>(site.object.adjust);
}

}  // namespace

StampClock::StampClock(std::uint64_t now_ns) : stamp_(__rdtsc()), ns_(now_ns) {
  static const double measured = measure_ns_per_tick();
  ns_per_tick_ = measured;
}

std::uint64_t StampClock::nanoseconds(std::uint64_t stamp) const {
  const auto ticks = static_cast<std::int64_t>(stamp - stamp_);
  const auto passed = static_cast<std::int64_t>(static_cast<double>(ticks) * ns_per_tick_);
  return passed < 0 && static_cast<std::uint64_t>(-passed) > ns_ ? 0
                                                                 : ns_ + static_cast<std::uint64_t>(passed);
}

void Replay::expect(SiteId site) {
  if (expected_.size() <= site.index()) expected_.resize(site.index() + 1);
  expected_[site.index()] = true;
}

// What a record names is looked at once for each way: the others of a way name the same.
Replay::CachedCall* Replay::cached_call(const RecordBatch& batch, const agent::Record& record) {
  const std::uint64_t key = std::uint64_t{record.site} << 32U | record.stack;
  CachedCall& way =
      cached_calls_[(record.stack ^ record.site << 7U ^ batch.thread.value << 10U) % kCachedCalls];
  if (way.stack == nullptr || way.key != key || way.thread != batch.thread) {
    const SiteId site(record.site);
    const RecordedStack* stack = expects(site) ? known_stack(key, sites_.get(site), record) : nullptr;
    if (stack == nullptr) return nullptr;
    way = CachedCall{key, batch.thread};
    way.stack = stack;
    way.recorded_pc = ~record.return_pc;
  }
  if (way.recorded_pc != record.return_pc) {
    way.recorded_pc = record.return_pc;
    const Address original = modules_.original(record.return_pc);
    way.return_pc = original != 0 ? original : record.return_pc;
  }
  return &way;
}

const RecordedStack* Replay::known_stack(std::uint64_t key, const Site& site, const agent::Record& record) {
  if (const auto known = known_stacks_.find(key); known != known_stacks_.end()) return &known->second;
  RecordedStack stack;
  stack.truncated = (record.flags & agent::kTruncated) != 0;
  stack.frames.push_back(RawFrame{site.address, 0, true});
  if (!stacks_(record.stack, stack.frames)) return nullptr;
  for (const RawFrame& frame : stack.frames) stack.pcs.add(frame.pc);
  if (recorder_.options().stacks) stack.id = recorder_.intern(stack.frames, stack.truncated);
  return &known_stacks_.emplace(key, std::move(stack)).first->second;
}

// By one, as the function does it that was inlined, and of one family only.
bool Replay::is_ordinary_change(const agent::Record& record, const Site& site) const {
  const CounterInstruction& instruction = *site.counter;
  const TrackedFamily& family = families_[site.family.index()];
  if (instruction.kind != CounterInstruction::Kind::add || !site.colocated.empty() || !family.counter)
    return false;
  const auto after = instruction.after(record.extra, record.count);
  const auto count = [&](std::uint64_t bytes) {
    return ProgramAccess::count_from(bytes, *family.counter, family.family.counter);
  };
  return after && count(*after) - count(record.count) == (site.role == Role::put ? -1 : 1);
}

// Most records: at the entry of a get or put whose object and counter they have, or at such an instruction.
bool Replay::apply_ordinary(const RecordBatch& batch, const agent::Record& record, CachedCall& way) {
  const Site& site = sites_.get(SiteId(record.site));
  if (site.counter && !is_ordinary_change(record, site)) return false;
  const bool ordinary = record.kind == agent::RecordKind::entry &&
                        (record.flags & (agent::kHasCount | agent::kCandidate)) == agent::kHasCount &&
                        (site.role == Role::get || site.role == Role::put) &&
                        site.object.from == ObjectSource::From::argument && !site.object.indirect &&
                        site.success == Success::always;
  const TrackedFamily& family = families_[site.family.index()];
  if (!ordinary || !family.counter || family.family.allocator) return false;
  Recorder::OrdinaryCall call;
  call.call.site = SiteId(record.site);
  call.call.object = counted_object(site, record);
  call.call.sp = record.sp;
  call.call.return_pc = site.counter ? site.address + 1 : way.return_pc;
  call.call.before = ProgramAccess::count_from(record.count, *family.counter, family.family.counter);
  call.tid = batch.tid;
  call.thread = batch.thread;
  call.time_ns = clock_.nanoseconds(record.time);
  call.stack = way.stack;
  call.origin = &way.origin;
  return recorder_.on_ordinary_entry(call);
}

void Replay::apply_change(const ProgramView& view, const RecordBatch& batch, const agent::Record& record,
                          const Site& site) {
  const auto after = site.counter->after(record.extra, record.count);
  if (!after) return;
  ++sites_.get(SiteId(record.site)).hits;
  Registers registers;
  registers[kRip] = site.address;
  registers[kRsp] = record.sp;
  const Address operand =
      record.object + families_[site.family.index()].counter->offset - site.counter->within;
  recorder_.on_counter_change(view, batch.tid, registers,
                              {SiteId(record.site), operand, record.sp, record.count, *after}, recorded_);
}

const std::vector<Recorded>& Replay::apply(const RecordBatch& batch, const agent::Record& raw) {
  recorded_.clear();
  CachedCall* const way = cached_call(batch, raw);
  if (way == nullptr) {
    ++refused_;
    recorder_.note_lost();
    return recorded_;
  }
  if (apply_ordinary(batch, raw, *way)) return recorded_;
  agent::Record record = raw;
  record.return_pc = way->return_pc;
  watched_.clear();
  const SiteId id(record.site);
  const Site& site = sites_.get(id);
  const RecordView view(batch, record, counted_object(site, record), clock_.nanoseconds(record.time),
                        *way->stack, memory_, freed_words_);
  if (record.kind == agent::RecordKind::returned) {
    Registers registers;
    registers[kRip] = record.return_pc;
    registers[kRsp] = record.sp + sizeof(Address);
    registers[kRax] = record.object;
    recorder_.on_return(view, batch.tid, registers, recorded_, watched_);
    return recorded_;
  }
  if (site.counter) {
    apply_change(view, batch, record, site);
    return recorded_;
  }
  std::optional<Address> arm_return;
  recorder_.on_entry(view, batch.tid, entry_registers(site, record), id, recorded_, arm_return);
  return recorded_;
}

}  // namespace refhist
