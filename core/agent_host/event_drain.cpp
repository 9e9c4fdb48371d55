#include "agent_host/event_drain.h"

#include <fmt/core.h>
#include <pthread.h>
#include <x86intrin.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/other_processors.h"
#include "base/quiet_thread.h"
#include "base/short_slice.h"
#include "base/task_status.h"

namespace refhist {

namespace {
constexpr std::chrono::microseconds kShortestRest{100};
constexpr std::chrono::microseconds kLongestRest{2000};
constexpr unsigned kAhead = 16;                      // records
constexpr std::size_t kBatch = 1U << 12U;            // records; a new batch is begun beyond
constexpr std::size_t kSpare = 512;                  // batches: 48 MiB, and the calls in them
constexpr std::size_t kSlice = 64;                   // batches that are handed on at once
constexpr std::size_t kMostWaiting = 1U << 22U;      // records
constexpr std::chrono::milliseconds kNameHolds{1};   // asking for a name takes as long as a thousand records
constexpr std::chrono::milliseconds kPatience{500};  // less than that of the program
constexpr std::chrono::seconds kStuck{1};            // with a full ring
constexpr unsigned kMostLooks = 16;                  // of one take; a damaged record may be of any time
constexpr std::int32_t kMostTid = 1 << 22;           // the kernel's own limit
// Time stamps. A thread's store that it has begun a record reaches us later than that by less than this.
constexpr std::uint64_t kStoreDelay = 1U << 18U;

std::uint32_t lap_of(std::uint64_t index) {
  return static_cast<std::uint32_t>(index / agent::kRingRecords) + 1;
}

constexpr std::string_view kStandsStill = "tTZX";  // first letters of a task's state

std::vector<long> threads_of(const std::vector<RecordBatch>& batches) {
  std::vector<long> tids;
  for (const RecordBatch& batch : batches) tids.push_back(batch.tid);
  std::sort(tids.begin(), tids.end());
  tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
  return tids;
}

}  // namespace

EventDrain::EventDrain(const SharedArea& area, long pid) : area_(area), pid_(pid), numbers_(pid) {
  thread_ = start_quiet_thread([this] { run(); });
}

EventDrain::~EventDrain() {
  ending_ = true;
  thread_.join();
}

void EventDrain::run() {
  ask_for_short_slices();
  OtherProcessors others;
  auto rest = kShortestRest;
  while (!ending_) {
    bool found = false;
    {
      const std::lock_guard lock(mutex_);
      found = !holds_back() && drain_all();
      release_ended();
      single_writer_.looked(area_, highest_slot_);
      area_.put_layout_right();
      area_.beat();
    }
    others.avoid(single_writer_.processor());
    rest = found ? kShortestRest : std::min(rest * 2, kLongestRest);
    std::this_thread::sleep_for(rest);
  }
}

// As it stood there first: that of a thread that runs does not change.
long EventDrain::tid_of(unsigned index) {
  Ring& ring = rings_[index];
  if (ring.inside == 0) {
    ring.inside =
        area_.slot(index).tid().get_if([](auto tid) { return 0 < tid && tid <= kMostTid; }).value_or(0);
    ring.tid = numbers_.outside(ring.inside);
    if (ring.inside != 0) give_to_owner(index);
    ended_.erase(ring.tid);  // a new one, by the same number
  }
  return ring.tid;
}

// A child that runs in the program's memory (vfork, clone) has the thread pointer of the thread that made it,
// and so its slot, which that thread and its next child go on with when this child has ended.
void EventDrain::give_to_owner(unsigned index) {
  Ring& ring = rings_[index];
  const SharedSlot slot = area_.slot(index);
  const auto number = slot.owner().get_if([](auto owner) { return 0 < owner && owner <= kMostTid; });
  const auto owner = static_cast<std::int32_t>(number.value_or(0));
  if (owner == 0 || owner == ring.inside) return;
  const long tid = numbers_.outside(owner);
  if (!is_thread_of(pid_, tid)) return;
  ring.inside = owner;
  ring.tid = tid;
  slot.tid().store(owner);
}

const std::string& EventDrain::name_of(unsigned index) {
  const long tid = tid_of(index);
  Named& known = names_[index];
  const auto now = std::chrono::steady_clock::now();
  if (known.tid == tid && now - known.at < kNameHolds) return known.name;
  std::ifstream comm(fmt::format("/proc/{}/task/{}/comm", pid_, tid));
  std::string name;
  if (std::getline(comm, name)) {
    known.name = std::move(name);
  } else if (known.tid != tid) {  // it has ended: the name that it began with
    known.name = area_.slot(index).name();
  }
  known.tid = tid;
  known.at = now;
  return known.name;
}

RecordBatch EventDrain::new_batch() {
  RecordBatch batch;
  RecordBatch::Memory memory;
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  }
  batch.use(std::move(memory), kBatch);
  return batch;
}

void EventDrain::give_back(std::vector<RecordBatch> batches) {
  const std::lock_guard lock(mutex_);
  for (RecordBatch& batch : batches) {
    if (spare_.size() < kSpare) spare_.push_back(batch.take_memory());
  }
}

// The thread's last one while there is room: memory that is written for the first time costs more than the
// records.
RecordBatch& EventDrain::batch_for(unsigned index) {
  const long tid = tid_of(index);
  const std::string& name = name_of(index);
  if (open_[index] != 0) {
    RecordBatch& last = batches_[open_[index] - 1];
    if (last.tid == tid && last.thread_name == name && last.size() < kBatch) return last;
  }
  RecordBatch& batch = batches_.emplace_back(new_batch());
  batch.tid = tid;
  batch.thread_name = name;
  open_[index] = static_cast<std::uint32_t>(batches_.size());
  return batch;
}

// Where the records that the thread has begun end. A number that cannot be makes the ring begin anew there:
// the program goes on from it.
std::uint64_t EventDrain::end_of(unsigned index) {
  Ring& ring = rings_[index];
  const Untrusted reserved = area_.slot(index).reserved();
  const auto fits = [&](std::uint64_t end) { return end - ring.consumed <= agent::kRingRecords; };
  if (const auto end = reserved.get_if(fits)) return *end;
  area_.damage().refuse();
  ring.consumed = reserved.claimed();
  area_.clear_ring(index, ring.consumed);
  area_.slot(index).consumed().store(ring.consumed);
  told_[index] = 0;
  early_.erase(index);
  unfinished_[index] = {};
  return ring.consumed;
}

// The oldest record is not whole, and there has been no room for new ones for long: whoever began it never
// comes back to it.
bool EventDrain::is_stuck(unsigned index, std::uint64_t end) {
  Ring& ring = rings_[index];
  const auto now = std::chrono::steady_clock::now();
  if (ring.blocked_at != ring.consumed || ring.blocked_since == std::chrono::steady_clock::time_point{}) {
    ring.blocked_at = ring.consumed;
    ring.blocked_since = now;
    ring.taken_before = taken_;
  }
  return end - ring.consumed >= agent::kRingRecords - agent::kRingSlack && now - ring.blocked_since > kStuck;
}

// Of a record that has begun. Nothing but the number of this turn and that of the one before can stand there.
EventDrain::Turn EventDrain::turn_of(unsigned index, std::uint64_t record) const {
  const std::uint32_t lap = area_.lap(index, record).claimed();
  if (lap == lap_of(record)) return Turn::whole;
  return lap + 1 == lap_of(record) ? Turn::unfinished : Turn::damaged;
}

// The agent, should it still write it, finds it given up.
void EventDrain::pass_over(unsigned index, std::uint64_t record) {
  area_.lap(index, record).store(lap_of(record));
}

bool EventDrain::begins_whole(unsigned index, std::uint64_t end) {
  const std::uint64_t first = rings_[index].consumed;
  if (first == end) return false;
  if (turn_of(index, first) != Turn::unfinished) return true;
  if (!is_stuck(index, end)) return false;
  pass_over(index, first);
  told_[index] = first + 1;  // as if it were
  ++lost_besides_;
  return true;
}

// False where there is no event, or none that can be.
inline bool EventDrain::copy_record(unsigned index, std::uint64_t next, agent::Record& record) {
  if (!area_.record(index, next).copy_if(record, check_)) {
    area_.damage().refuse();
    return false;
  }
  if (record.kind == agent::RecordKind::nothing || next + 1 == told_[index]) return false;
  return early_.empty() || !was_early(index, next);
}

bool EventDrain::drain_slot(unsigned index) {
  Ring& ring = rings_[index];
  const std::uint64_t end = end_of(index);
  put_consumed_right(index);
  if (!begins_whole(index, end)) return false;
  std::uint64_t next = ring.consumed;
  const long tid = tid_of(index);
  std::size_t events = 0;
  RecordBatch* batch = nullptr;
  const Unfinished unfinished = unfinished_[index];
  for (; next != end; ++next) {
    // Each record lies in a cache line that another processor has written.
    area_.record(index, next + kAhead).expect();
    const Turn turn = turn_of(index, next);
    if (turn == Turn::unfinished) break;
    if (turn == Turn::damaged || tid == 0) {
      pass_over(index, next);
      area_.damage().refuse();
      continue;
    }
    agent::Record record;
    if (!copy_record(index, next, record)) continue;
    if (batch == nullptr || batch->size() == kBatch) batch = &batch_for(index);
    batch->add(record);
    oldest_found_ = std::min(oldest_found_, record.time);
    if (next < unfinished.end) batch->note_late(record, unfinished.told);
    ++events;
  }
  waiting_ += events;
  taken_ += events;
  if (batch != nullptr) settled_.taken(index, batch->newest);
  ring.consumed = next;
  area_.slot(index).consumed().store(next);
  return true;
}

// That word is ours.
void EventDrain::put_consumed_right(unsigned index) {
  const Untrusted consumed = area_.slot(index).consumed();
  if (consumed.is(rings_[index].consumed)) return;
  consumed.store(rings_[index].consumed);
  area_.damage().put_right();
}

void EventDrain::put_tid_right(unsigned index) {
  const Untrusted tid = area_.slot(index).tid();
  const std::int32_t known = rings_[index].inside;
  if (known == 0 || tid.is(known)) return;
  tid.store(known);
  area_.damage().put_right();
}

void EventDrain::put_right() {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < highest_slot_; ++i) {
    if (area_.slot(i).taken().is(0)) continue;
    put_consumed_right(i);
    put_tid_right(i);
  }
  area_.put_layout_right();
}

bool EventDrain::was_early(unsigned index, std::uint64_t record) {
  const auto found = early_.find(index);
  if (found == early_.end() || found->second.erase(record) == 0) return false;
  if (found->second.empty()) early_.erase(found);
  return true;
}

bool EventDrain::drain_all() {
  while (highest_slot_ < area_.thread_slots() && !area_.slot(highest_slot_).taken().is(0)) ++highest_slot_;
  // Slots are taken in turn from where the hint says, which may be damaged.
  const unsigned last = (area_.slot_hint().claimed() - 1) % area_.thread_slots();
  if (last >= highest_slot_ && !area_.slot(last).taken().is(0)) highest_slot_ = last + 1;
  bool found = false;
  for (unsigned i = 0; i < highest_slot_; ++i) found = drain_slot(i) || found;
  return found;
}

void EventDrain::release_ended() {
  for (unsigned i = 0; i < highest_slot_; ++i) {
    const SharedSlot slot = area_.slot(i);
    if (slot.taken().is(0) || tid_of(i) == 0) continue;
    Ring& ring = rings_[i];
    put_tid_right(i);
    if (ring.consumed != end_of(i)) continue;
    if (runs_in_memory_of(pid_, ring.tid)) continue;
    // What it recorded right before its end may have come after the first look.
    if (ring.consumed != end_of(i)) continue;
    lost_besides_ += ring.lost.look(slot.lost(), area_.damage());
    ring.lost = {};
    ended_.insert(ring.tid);
    ring.tid = ring.inside = 0;
    settled_.ended(i);
    told_[i] = 0;
    early_.erase(i);
    unfinished_[i] = {};
    area_.forget_slot(i);
  }
}

std::unordered_set<long> EventDrain::take_ended() {
  const std::lock_guard lock(mutex_);
  std::unordered_set<long> ended = std::move(ended_);
  ended_.clear();
  for (const RecordBatch& batch : batches_) {
    if (ended.erase(batch.tid) != 0) ended_.insert(batch.tid);
  }
  return ended;
}

void EventDrain::note_unfinished(EventId next) {
  for (unsigned i = 0; i < highest_slot_; ++i) {
    Unfinished& unfinished = unfinished_[i];
    if (rings_[i].consumed >= unfinished.end) unfinished.told = next;
    unfinished.end = end_of(i) + 1;  // the store that begins one more may be on its way to us
  }
}

// A record of one ring may reach us after the look at that ring, and one that a thread has written after it
// before the look at the next ring. Stores arrive in the order in which they were made, so a look that finds
// nothing so old ends it: whatever came before a record that was found is found.
void EventDrain::drain_older_than(std::uint64_t time) {
  for (unsigned looks = 0; looks < kMostLooks; ++looks) {
    oldest_found_ = time;
    drain_all();
    if (oldest_found_ >= time) return;
  }
}

// Some of the rings have been looked at when others get a record that is newer than what they get next: it
// waits. Of a thread that stands still none is newer, whatever its processor's clock says.
std::vector<RecordBatch> EventDrain::take(EventId next) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = __rdtsc();
  drain_older_than(now);
  note_unfinished(next);
  std::vector<RecordBatch> taken = split(now);
  if (batches_.empty() || any_runs(batches_)) return taken;
  std::uint64_t newest = 0;
  for (const RecordBatch& batch : batches_) newest = std::max(newest, batch.newest);
  drain_all();
  for (RecordBatch& batch : split(newest + 1)) taken.push_back(std::move(batch));
  return taken;
}

std::vector<RecordBatch> EventDrain::take_unread(
    const std::function<bool(const agent::Record&)>& unreadable) {
  const std::lock_guard lock(mutex_);
  std::vector<RecordBatch> unread;
  for (unsigned i = 0; i < highest_slot_; ++i) {
    const std::uint64_t end = end_of(i);
    if (area_.slot(i).taken().is(0) || end == rings_[i].consumed || end == told_[i] || tid_of(i) == 0)
      continue;
    const auto counting = area_.record(i, end - 1).get_if([&](const agent::Record& record) {
      return record.kind == agent::RecordKind::entry && record.lap != lap_of(end - 1) &&
             (record.flags & agent::kCounting) != 0;
    });
    if (!counting || !unreadable(*counting)) continue;
    told_[i] = end;
    agent::Record record = *counting;
    record.flags &= agent::kTruncated;
    record.time = __rdtsc();
    RecordBatch& batch = unread.emplace_back();
    batch.tid = tid_of(i);
    batch.thread_name = name_of(i);
    batch.add(record);
  }
  return unread;
}

std::vector<RecordBatch> EventDrain::take_interrupting(long tid) {
  const std::lock_guard lock(mutex_);
  std::vector<RecordBatch> batches;
  for (unsigned i = 0; i < highest_slot_; ++i) {
    if (area_.slot(i).taken().is(0) || tid_of(i) != tid) continue;
    RecordBatch batch;
    batch.tid = tid;
    batch.thread_name = name_of(i);
    const std::uint64_t end = end_of(i);
    for (std::uint64_t next = rings_[i].consumed; next != end; ++next) {
      if (turn_of(i, next) != Turn::whole || next + 1 == told_[i]) continue;
      const auto record = area_.record(i, next).get_if(check_);
      const bool event = record && record->kind != agent::RecordKind::nothing;
      if (event && early_[i].insert(next).second) batch.add(*record);
    }
    if (!batch.empty()) batches.push_back(std::move(batch));
  }
  return batches;
}

// The program waits while its records are worked off, but not for long where nobody works.
bool EventDrain::holds_back() {
  const auto now = std::chrono::steady_clock::now();
  if (waiting_ <= kMostWaiting) {
    holding_since_ = now;
    return false;
  }
  return now - std::max(gave_at_, holding_since_) < kPatience;
}

// `now`: read before the rings were looked at.
std::uint64_t EventDrain::settled_before(std::uint64_t now) {
  settled_.begin(now);
  for (unsigned i = 0; i < highest_slot_; ++i) {
    if (area_.slot(i).taken().is(0)) continue;
    const Ring& ring = rings_[i];
    if (ring.consumed == end_of(i)) {
      settled_.idle(i);
    } else if (ring.blocked_at != ring.consumed || taken_ - ring.taken_before <= kMostWaiting) {
      // Else others have recorded so much since that nobody waits for it any longer.
      settled_.busy(i);
    }
  }
  std::uint64_t horizon = settled_.horizon();
  if (waiting_ > 2 * kMostWaiting) return horizon;  // who asks has the debugger stop the program long before
  for (const RecordBatch& batch : batches_) horizon = std::min(horizon, batch.asks_at);
  return horizon;
}

// Takes what is older than the horizon out of `batches_`.
std::vector<RecordBatch> EventDrain::split(std::uint64_t horizon) {
  std::vector<RecordBatch> settled;
  std::vector<RecordBatch> rest;
  for (RecordBatch& batch : batches_) {
    if (batch.in_order && batch.time(0) >= horizon) {
      rest.push_back(std::move(batch));
      continue;
    }
    if (batch.newest >= horizon) {
      RecordBatch later = new_batch();
      batch.cut(horizon, later);
      rest.push_back(std::move(later));
    }
    if (!batch.empty()) settled.push_back(std::move(batch));
  }
  for (const RecordBatch& batch : settled) waiting_ -= batch.size();
  batches_ = std::move(rest);
  open_ = {};
  return settled;
}

bool EventDrain::any_runs(const std::vector<RecordBatch>& batches) const {
  const std::vector<long> tids = threads_of(batches);
  return std::any_of(tids.begin(), tids.end(), [&](long tid) {
    const std::string state = task_status(pid_, "State", tid);
    return !state.empty() && kStandsStill.find(state.front()) == std::string_view::npos;
  });
}

bool EventDrain::all_traced(const std::vector<RecordBatch>& batches) const {
  if (!is_traced(pid_)) return false;
  const std::vector<long> tids = threads_of(batches);
  return std::all_of(tids.begin(), tids.end(),
                     [&](long tid) { return task_status(pid_, "TracerPid", tid) != "0"; });
}

std::vector<RecordBatch> EventDrain::take_settled() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = __rdtsc() - kStoreDelay;
  drain_all();
  std::uint64_t horizon = settled_before(now);
  // Whoever works them off holds up the user's commands meanwhile.
  if (batches_.size() > kSlice) horizon = std::min(horizon, batches_[kSlice].newest);
  if (batches_.empty() || !all_traced(batches_)) return {};
  std::vector<RecordBatch> settled = split(horizon);
  if (!settled.empty()) gave_at_ = std::chrono::steady_clock::now();
  return settled;
}

std::uint64_t EventDrain::lost() {
  const std::lock_guard lock(mutex_);
  std::uint64_t lost = lost_besides_ + slots_full_.look(area_.slots_full(), area_.damage());
  for (unsigned i = 0; i < highest_slot_; ++i)
    lost += rings_[i].lost.look(area_.slot(i).lost(), area_.damage());
  return lost;
}

}  // namespace refhist
