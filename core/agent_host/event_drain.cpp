#include "agent_host/event_drain.h"

#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cstring>
#include <fstream>
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
// Time stamps. A thread's store that it has begun a record reaches us later than that by less than this.
constexpr std::uint64_t kStoreDelay = 1U << 18U;

std::uint32_t lap_of(std::uint64_t index) {
  return static_cast<std::uint32_t>(index / agent::kRingRecords) + 1;
}

template <class T>
T load(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}
}  // namespace

EventDrain::EventDrain(const SharedArea& area, long pid) : area_(area), pid_(pid) {
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
      sole_.looked(area_, highest_slot_);
      agent::Shared& shared = area_.shared();
      __atomic_fetch_add(&shared.heartbeat, 1, __ATOMIC_RELAXED);
      if (load(shared.unattended) != 0) __atomic_store_n(&shared.unattended, 0U, __ATOMIC_RELEASE);
    }
    others.avoid(sole_.processor());
    rest = found ? kShortestRest : std::min(rest * 2, kLongestRest);
    std::this_thread::sleep_for(rest);
  }
}

const std::string& EventDrain::name_of(unsigned index) {
  const agent::ThreadSlot& slot = area_.slot(index);
  Named& known = names_[index];
  const auto now = std::chrono::steady_clock::now();
  if (known.tid == slot.tid && now - known.at < kNameHolds) return known.name;
  std::ifstream comm(fmt::format("/proc/{}/task/{}/comm", pid_, slot.tid));
  std::string name;
  if (std::getline(comm, name)) {
    known.name = std::move(name);
  } else if (known.tid != slot.tid) {  // it has ended: the name that it began with
    known.name = {slot.name, strnlen(slot.name, sizeof slot.name)};
  }
  known.tid = slot.tid;
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
  const agent::ThreadSlot& slot = area_.slot(index);
  const std::string& name = name_of(index);
  if (open_[index] != 0) {
    RecordBatch& last = batches_[open_[index] - 1];
    if (last.tid == slot.tid && last.thread_name == name && last.size() < kBatch) return last;
  }
  RecordBatch& batch = batches_.emplace_back(new_batch());
  batch.tid = slot.tid;
  batch.thread_name = name;
  open_[index] = static_cast<std::uint32_t>(batches_.size());
  return batch;
}

bool EventDrain::drain_slot(unsigned index) {
  agent::ThreadSlot& slot = area_.slot(index);
  std::uint64_t next = slot.consumed;
  const std::uint64_t end = load(slot.reserved);
  if (next == end || load(area_.record(index, next).lap) != lap_of(next)) return false;
  RecordBatch* batch = nullptr;
  const Unfinished unfinished = unfinished_[index];
  for (; next != end; ++next) {
    // Each record lies in a cache line that another processor has written.
    __builtin_prefetch(&area_.record(index, next + kAhead));
    const agent::Record& record = area_.record(index, next);
    if (load(record.lap) != lap_of(next)) break;
    if (record.kind == agent::RecordKind::nothing || next + 1 == told_[index]) continue;
    if (!early_.empty() && was_early(index, next)) continue;
    if (batch == nullptr || batch->size() == kBatch) batch = &batch_for(index);
    batch->add(record);
    if (next < unfinished.end) batch->note_late(record, unfinished.told);
    ++waiting_;
  }
  if (batch != nullptr) settled_.taken(index, batch->newest);
  __atomic_store_n(&slot.consumed, next, __ATOMIC_RELEASE);
  return true;
}

bool EventDrain::was_early(unsigned index, std::uint64_t record) {
  const auto found = early_.find(index);
  if (found == early_.end() || found->second.erase(record) == 0) return false;
  if (found->second.empty()) early_.erase(found);
  return true;
}

bool EventDrain::drain_all() {
  while (highest_slot_ < area_.thread_slots() && load(area_.slot(highest_slot_).taken) != 0) ++highest_slot_;
  bool found = false;
  for (unsigned i = 0; i < highest_slot_; ++i) found = drain_slot(i) || found;
  return found;
}

void EventDrain::release_ended() {
  for (unsigned i = 0; i < highest_slot_; ++i) {
    agent::ThreadSlot& slot = area_.slot(i);
    if (load(slot.taken) == 0 || slot.tid == 0 || slot.consumed != load(slot.reserved)) continue;
    if (access(fmt::format("/proc/{}/task/{}", pid_, slot.tid).c_str(), F_OK) == 0) continue;
    // What it recorded right before its end may have come after the first look.
    if (slot.consumed != load(slot.reserved)) continue;
    lost_of_released_ += slot.lost;
    settled_.ended(i);
    told_[i] = 0;
    early_.erase(i);
    unfinished_[i] = {};
    area_.forget_slot(i);
  }
}

void EventDrain::note_unfinished(EventId next) {
  for (unsigned i = 0; i < highest_slot_; ++i) {
    const agent::ThreadSlot& slot = area_.slot(i);
    Unfinished& unfinished = unfinished_[i];
    if (slot.consumed >= unfinished.end) unfinished.told = next;
    unfinished.end = load(slot.reserved) + 1;  // the store that begins one more may be on its way to us
  }
}

std::vector<RecordBatch> EventDrain::take(EventId next) {
  const std::lock_guard lock(mutex_);
  drain_all();
  note_unfinished(next);
  waiting_ = 0;
  open_ = {};
  return std::exchange(batches_, {});
}

std::vector<RecordBatch> EventDrain::take_unread(
    const std::function<bool(const agent::Record&)>& unreadable) {
  const std::lock_guard lock(mutex_);
  std::vector<RecordBatch> unread;
  for (unsigned i = 0; i < highest_slot_; ++i) {
    const agent::ThreadSlot& slot = area_.slot(i);
    const std::uint64_t end = load(slot.reserved);
    if (load(slot.taken) == 0 || end == slot.consumed || end == told_[i]) continue;
    agent::Record record = area_.record(i, end - 1);
    const bool counting = record.kind == agent::RecordKind::entry && record.lap != lap_of(end - 1) &&
                          (record.flags & agent::kCounting) != 0;
    if (!counting || !unreadable(record)) continue;
    told_[i] = end;
    record.flags &= agent::kTruncated;
    record.time = __rdtsc();
    RecordBatch& batch = unread.emplace_back();
    batch.tid = slot.tid;
    batch.thread_name = name_of(i);
    batch.add(record);
  }
  return unread;
}

std::vector<RecordBatch> EventDrain::take_interrupting(long tid) {
  const std::lock_guard lock(mutex_);
  std::vector<RecordBatch> batches;
  for (unsigned i = 0; i < highest_slot_; ++i) {
    const agent::ThreadSlot& slot = area_.slot(i);
    if (load(slot.taken) == 0 || slot.tid != tid) continue;
    RecordBatch batch;
    batch.tid = slot.tid;
    batch.thread_name = name_of(i);
    const std::uint64_t end = load(slot.reserved);
    for (std::uint64_t next = slot.consumed; next != end; ++next) {
      const agent::Record& record = area_.record(i, next);
      const bool whole = load(record.lap) == lap_of(next) && record.kind != agent::RecordKind::nothing &&
                         next + 1 != told_[i];
      if (whole && early_[i].insert(next).second) batch.add(record);
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
    const agent::ThreadSlot& slot = area_.slot(i);
    if (load(slot.taken) == 0) continue;
    if (slot.consumed == load(slot.reserved)) {
      settled_.idle(i);
    } else {
      settled_.busy(i);
    }
  }
  std::uint64_t horizon = settled_.horizon();
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

bool EventDrain::all_traced(const std::vector<RecordBatch>& batches) const {
  if (!is_traced(pid_)) return false;
  std::vector<long> tids;
  for (const RecordBatch& batch : batches) tids.push_back(batch.tid);
  std::sort(tids.begin(), tids.end());
  tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
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

std::uint64_t EventDrain::lost() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t lost = lost_of_released_ + load(area_.shared().slots_full);
  for (unsigned i = 0; i < highest_slot_; ++i) lost += load(area_.slot(i).lost);
  return lost;
}

}  // namespace refhist
