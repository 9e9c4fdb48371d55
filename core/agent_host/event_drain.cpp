#include "agent_host/event_drain.h"

#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>

namespace refhist {

namespace {
constexpr std::chrono::microseconds kShortestRest{100};
constexpr std::chrono::microseconds kLongestRest{2000};
constexpr unsigned kAhead = 16;            // records
constexpr std::size_t kBatch = 1U << 16U;  // records; a new batch is begun beyond

std::uint32_t lap_of(std::uint64_t index) {
  return static_cast<std::uint32_t>(index / agent::kRingRecords) + 1;
}

template <class T>
T load(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}
}  // namespace

EventDrain::EventDrain(const SharedArea& area, long pid) : area_(area), pid_(pid) {
  // The debugger's signals are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EventDrain::~EventDrain() {
  ending_ = true;
  thread_.join();
}

void EventDrain::run() {
  auto rest = kShortestRest;
  while (!ending_) {
    bool found = false;
    {
      const std::lock_guard lock(mutex_);
      found = drain_all();
      release_ended();
      __atomic_fetch_add(&area_.shared().heartbeat, 1, __ATOMIC_RELAXED);
    }
    rest = found ? kShortestRest : std::min(rest * 2, kLongestRest);
    std::this_thread::sleep_for(rest);
  }
}

std::string EventDrain::name_of(const agent::ThreadSlot& slot) const {
  std::ifstream comm(fmt::format("/proc/{}/task/{}/comm", pid_, slot.tid));
  std::string name;
  if (std::getline(comm, name)) return name;
  return {slot.name, strnlen(slot.name, sizeof slot.name)};  // it has ended: the name that it began with
}

bool EventDrain::drain_slot(unsigned index) {
  agent::ThreadSlot& slot = area_.slot(index);
  std::uint64_t next = slot.consumed;
  const std::uint64_t end = load(slot.reserved);
  if (next == end || load(area_.record(index, next).lap) != lap_of(next)) return false;
  RecordBatch* batch = nullptr;
  for (; next != end; ++next) {
    // Each record lies in a cache line that another processor has written.
    __builtin_prefetch(&area_.record(index, next + kAhead));
    const agent::Record& record = area_.record(index, next);
    if (load(record.lap) != lap_of(next)) break;
    if (batch == nullptr || batch->records.size() == kBatch) {
      batch = &batches_.emplace_back();
      batch->tid = slot.tid;
      batch->thread_name = name_of(slot);
      batch->records.reserve(std::min<std::uint64_t>(kBatch, std::max<std::uint64_t>(end - next, 64)));
    }
    batch->records.push_back(record);
    ++drained_;
  }
  __atomic_store_n(&slot.consumed, next, __ATOMIC_RELEASE);
  return true;
}

bool EventDrain::drain_all() {
  while (highest_slot_ < agent::kThreadSlots && load(area_.slot(highest_slot_).taken) != 0) ++highest_slot_;
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
    area_.forget_slot(i);
  }
}

std::vector<RecordBatch> EventDrain::take() {
  const std::lock_guard lock(mutex_);
  drain_all();
  std::vector<RecordBatch> taken;
  taken.swap(batches_);
  return taken;
}

std::uint64_t EventDrain::lost() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t lost = lost_of_released_ + load(area_.shared().slots_full);
  for (unsigned i = 0; i < highest_slot_; ++i) lost += load(area_.slot(i).lost);
  return lost;
}

}  // namespace refhist
