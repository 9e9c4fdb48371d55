#include "agent/agent_threads.h"

#include "agent/instructions.h"

namespace refhist::agent {

namespace {

constexpr int64_t kGettid = 186;
constexpr int64_t kPrctl = 157;
constexpr uint64_t kGetName = 16;
constexpr uint64_t kAhead = 8;        // records
constexpr unsigned kSpins = 200;      // pauses before the first sleep
constexpr unsigned kSleeps = 20000;   // of 100 us: two seconds, then the event is counted as lost
constexpr unsigned kPatience = 5000;  // sleeps without a sign of life from the debugger

uint64_t thread_pointer() {
  uint64_t value = 0;
  __asm__ volatile("rdfsbase %0" : "=r"(value));
  return value;
}

uint32_t start_of_search(uint64_t pointer) {
  return static_cast<uint32_t>(((pointer >> 6) * 0x9e3779b97f4a7c15U) >> 40) % kThreadTable;
}

template <class T>
T* at(Shared* shared, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + offset);
}

// Taken for true where it cannot be asked: then a level too many is counted, at worst.
bool on_signal_stack(bool confined) {
  if (confined) return true;
  constexpr int64_t kSigaltstack = 131;
  constexpr uint32_t kOnStack = 1;
  struct {
    uint64_t pointer;
    uint32_t flags;
    uint32_t unused;
    uint64_t size;
  } stack{};
  system_call(kSigaltstack, 0, reinterpret_cast<uint64_t>(&stack));
  return (stack.flags & kOnStack) != 0;
}

}  // namespace

Activation::Activation(const volatile Config& config, uint64_t sp) : config_(config), sp_(sp) {
  const auto* control = reinterpret_cast<const Control*>(config_.control);
  if (__atomic_load_n(&control->enabled, __ATOMIC_RELAXED) == 0) return;
  shared_ = reinterpret_cast<Shared*>(config_.shared);
  if (!find_slot()) {
    __atomic_fetch_add(&shared_->slots_full, 1U, __ATOMIC_RELAXED);
    slot_ = nullptr;
    return;
  }
  slot_index_ = static_cast<uint32_t>(slot_ - at<ThreadSlot>(shared_, shared_->slots));
  ring_ = at<Record>(shared_, shared_->rings) + uint64_t{kRingRecords} * slot_index_;
  enter_level();
}

void Activation::enter_level() {
  outer_level_ = slot_->level;
  // Further out than the outermost one, and not on a signal stack: that one was left by a longjmp.
  if (outer_level_ != 0 && sp_ > slot_->oldest_sp && !on_signal_stack(is_confined(*shared_)))
    outer_level_ = 0;
  if (outer_level_ == 0) slot_->oldest_sp = sp_;
  slot_->level = outer_level_ + 1;
}

Activation::~Activation() {
  if (slot_ != nullptr) slot_->level = outer_level_;
}

bool Activation::find_slot() {
  const uint64_t pointer = thread_pointer();
  const uint32_t tid =
      pointer == 0 ? 0 : *reinterpret_cast<const volatile uint32_t*>(pointer + config_.tid_offset);
  auto* table = at<ThreadTableEntry>(shared_, shared_->table);
  // Entries are never taken out, only used again by a thread with the same pointer: a free one ends the
  // search. A thread pointer of 0, before the C library has set one, has an entry of its own behind the
  // table.
  if (pointer == 0) return take_slot(table[kThreadTable], 0, tid);
  for (uint32_t i = start_of_search(pointer), tries = 0; tries < kThreadTable; ++tries) {
    ThreadTableEntry& entry = table[i];
    uint64_t there = __atomic_load_n(&entry.thread_pointer, __ATOMIC_RELAXED);
    if (there == 0 && __atomic_compare_exchange_n(&entry.thread_pointer, &there, pointer, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return take_slot(entry, pointer, tid);
    }
    if (there == pointer) {
      if (entry.tid != tid || entry.slot == 0) return take_slot(entry, pointer, tid);
      slot_ = at<ThreadSlot>(shared_, shared_->slots) + (entry.slot - 1);
      return true;
    }
    i = (i + 1) % kThreadTable;
  }
  return false;
}

bool Activation::take_slot(ThreadTableEntry& entry, uint64_t thread_pointer, uint32_t tid) {
  auto* slots = at<ThreadSlot>(shared_, shared_->slots);
  const bool confined = is_confined(*shared_);
  const auto kernel_tid = static_cast<int32_t>(confined ? tid : system_call(kGettid));
  if (entry.slot != 0 && slots[entry.slot - 1].taken != 0 && slots[entry.slot - 1].tid == kernel_tid) {
    entry.tid = tid;  // the same thread: the C library has only now written its id
    slot_ = slots + (entry.slot - 1);
    return true;
  }
  const uint32_t begin = __atomic_fetch_add(&shared_->slot_hint, 1U, __ATOMIC_RELAXED);
  for (uint32_t tries = 0; tries < kThreadSlots; ++tries) {
    const uint32_t i = (begin + tries) % kThreadSlots;
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&slots[i].taken, &free, 1U, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    slot_ = slots + i;
    slot_->level = 0;
    slot_->tid = kernel_tid;
    slot_->name[0] = 0;
    if (!confined) system_call(kPrctl, kGetName, reinterpret_cast<uint64_t>(slot_->name));
    entry.slot = i + 1;
    entry.tid = tid;
    return true;
  }
  (void)thread_pointer;
  return false;
}

bool Activation::has_room() const {
  const uint64_t used = slot_->reserved - __atomic_load_n(&slot_->consumed, __ATOMIC_ACQUIRE);
  return used < kRingRecords - kRingSlack;
}

bool Activation::wait_for_room() {
  if (__atomic_load_n(&shared_->unattended, __ATOMIC_RELAXED) != 0) return false;
  uint64_t heartbeat = 0;
  for (unsigned i = 0; i < kSpins + kSleeps; ++i) {
    if (has_room()) return true;
    if (i < kSpins) {
      pause();
    } else {
      sleep_a_little(is_confined(*shared_));
    }
    const unsigned slept = i < kSpins ? 0 : i - kSpins;
    if (slept % kPatience != 0) continue;
    const uint64_t now = __atomic_load_n(&shared_->heartbeat, __ATOMIC_RELAXED);
    if (slept != 0 && now == heartbeat) {
      // The debugger stands still, or is gone. It says that it is back.
      __atomic_store_n(&shared_->unattended, 1U, __ATOMIC_RELAXED);
      return false;
    }
    heartbeat = now;
  }
  return false;
}

bool Activation::begin_record(uint64_t& index) {
  if (slot_ == nullptr) return false;
  if (!has_room() && !wait_for_room()) {
    ++slot_->lost;
    return false;
  }
  // One instruction, so that a signal handler on this thread takes the next place or the one before.
  index = 1;
  __asm__ volatile("xaddq %0, %1" : "+r"(index), "+m"(slot_->reserved)::"cc", "memory");
  // The debugger has read that cache line: it comes back before it is written.
  __asm__ volatile("prefetchw %0" ::"m"(record(index + kAhead)));
  return true;
}

void Activation::capture_stack(Record& record, uint64_t entry_sp, uint64_t rbp, uint8_t& flags) {
  record.stack = kCutRoot;
  record.depth = 0;
  const uint32_t limit = config_.stacks;
  if (outer_level_ >= kWalkers || limit == 0) {
    flags |= kTruncated;
    return;
  }
  auto* walkers = at<WalkerThread>(shared_, shared_->walkers);
  auto* walk = at<WalkerShared>(shared_, shared_->walk);
  const Captured captured =
      capture(walk, walkers + (uint64_t{slot_index_} * kWalkers + outer_level_), entry_sp, rbp, limit);
  record.stack = captured.node;
  record.depth = captured.depth;
  if (captured.truncated) flags |= kTruncated;
}

}  // namespace refhist::agent
