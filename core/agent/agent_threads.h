// The agent's view of the thread that it runs on: its slot, its ring, and how deep in signal handlers it is.
#pragma once

#include "agent/agent_abi.h"
#include "agent/stack_walker.h"

namespace refhist::agent {

/// The number that a whole record of this index bears in `lap`; never 0.
inline uint32_t lap_of(uint64_t index) { return static_cast<uint32_t>(index / kRingRecords) + 1; }

/// Does the address lie in memory of ours?
inline bool is_in_code(const Config& config, uint64_t pc) {
#pragma GCC unroll 4
  for (const Config::Piece& piece : config.code) {
    if (pc - piece.begin < piece.size) return true;
  }
  return false;
}

/// The debugger may have written another instruction over both of these: agent_host/thread_pointer.h.
inline uint64_t thread_pointer() {
  uint64_t value = 0;
  __asm__ volatile("rdfsbase %0\n\t.byte 0x0f, 0x1f, 0x40, 0" : "=r"(value));
  return value;
}

/// In the table by thread pointer.
inline uint32_t start_of_search(uint64_t pointer) {
  return static_cast<uint32_t>(((pointer >> 6) * 0x9e3779b97f4a7c15U) >> 40) % kThreadTable;
}

template <class T>
T* at(Shared* shared, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + offset);
}

inline bool has_room(const ThreadSlot& slot) {
  return slot.reserved - __atomic_load_n(&slot.consumed, __ATOMIC_ACQUIRE) < kRingRecords - kRingSlack;
}

inline Record& record_of(Shared* shared, uint32_t slot, uint64_t index) {
  return at<Record>(shared, shared->rings)[uint64_t{kRingRecords} * slot + index % kRingRecords];
}

/// The thread that the agent runs on.
struct AgentThread {
  static constexpr uint32_t kNone = kThreadSlots;

  Shared* shared = nullptr;
  ThreadSlot* slot = nullptr;  ///< nullptr: there is none for it
  uint32_t index = kNone;

  [[nodiscard]] uint32_t number() const { return index + 1; }
};

// What an event seldom needs. By value, so that what is seldom needed costs the others nothing.

/// The thread's slot, perhaps a new one; kNone, which is counted, when all are taken.
uint32_t find_slot(const Config& config, Shared* shared);
/// False when the event is lost, which is counted.
bool wait_for_room(Shared* shared, ThreadSlot* slot);
/// How many runs of the agent this one, at `sp`, interrupts, where it may be more than none.
uint32_t levels_outside(const Config& config, AgentThread thread, uint64_t sp);

/// One run of the agent on a thread. A signal handler that interrupts it makes another one inside.
class Activation {
 public:
  __attribute__((always_inline)) Activation(const Config& config, uint64_t sp) : config_(config) {
    const auto* control = reinterpret_cast<const Control*>(config.control);
    if (__atomic_load_n(&control->enabled, __ATOMIC_RELAXED) == 0) return;
    thread_.shared = reinterpret_cast<Shared*>(config.shared);
    thread_.index = known_slot();
    if (thread_.index == AgentThread::kNone) thread_.index = find_slot(config, thread_.shared);
    if (thread_.index == AgentThread::kNone) return;
    thread_.slot = at<ThreadSlot>(thread_.shared, thread_.shared->slots) + thread_.index;
    outer_level_ = thread_.slot->level;
    if (outer_level_ != 0) outer_level_ = levels_outside(config, thread_, sp);
    if (outer_level_ == 0) thread_.slot->oldest_sp = sp;
    thread_.slot->level = outer_level_ + 1;
  }
  ~Activation() {
    if (thread_.slot != nullptr) thread_.slot->level = outer_level_;
  }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  /// Takes the next place in the ring. False when nothing is to be recorded, or nothing can be.
  bool begin_record(uint64_t& index) {
    if (thread_.slot == nullptr || (!has_room(*thread_.slot) && !wait_for_room(thread_.shared, thread_.slot)))
      return false;
    // One instruction, so that a signal handler on this thread takes the next place or the one before.
    uint64_t next = 1;
    __asm__ volatile("xaddq %0, %1" : "+r"(next), "+m"(thread_.slot->reserved)::"cc", "memory");
    // The debugger has read that cache line: it comes back before it is written.
    __asm__ volatile("prefetchw %0" ::"m"(record(next + kAhead)));
    index = next;
    return true;
  }
  /// Its slot is nullptr when nothing can be recorded.
  [[nodiscard]] AgentThread thread() const { return thread_; }
  [[nodiscard]] Record& record(uint64_t index) const {
    return record_of(thread_.shared, thread_.index, index);
  }
  /// The stack at a function's entry, into the record. RecordFlags for it.
  uint8_t capture_stack(Record& record, uint64_t entry_sp, uint64_t rbp) const;

 private:
  static constexpr uint64_t kAhead = 8;  // records

  [[nodiscard]] uint32_t known_slot() const;

  const Config& config_;
  AgentThread thread_;
  uint32_t outer_level_ = 0;
};

/// Where its entry is the first one that is looked at, as nearly always; else kNone.
inline uint32_t Activation::known_slot() const {
  const uint64_t pointer = thread_pointer();
  if (pointer == 0) return AgentThread::kNone;
  Shared* shared = thread_.shared;
  const ThreadTableEntry& entry = at<ThreadTableEntry>(shared, shared->table)[start_of_search(pointer)];
  if (__atomic_load_n(&entry.thread_pointer, __ATOMIC_RELAXED) != pointer) return AgentThread::kNone;
  const uint32_t tid = *reinterpret_cast<const volatile uint32_t*>(pointer + config_.tid_offset);
  return entry.tid == tid && entry.slot != 0 ? entry.slot - 1 : AgentThread::kNone;
}

__attribute__((always_inline)) inline uint8_t Activation::capture_stack(Record& record, uint64_t entry_sp,
                                                                        uint64_t rbp) const {
  record.stack = kCutRoot;
  record.depth = 0;
  const uint32_t limit = config_.stacks;
  if (outer_level_ >= kWalkers || limit == 0) return kTruncated;
  Shared* shared = thread_.shared;
  auto* walker = at<WalkerThread>(shared, shared->walkers) + (thread_.index * kWalkers + outer_level_);
  const Captured captured = capture(at<WalkerShared>(shared, shared->walk), walker, entry_sp, rbp, limit);
  record.stack = captured.node;
  record.depth = captured.depth;
  return captured.truncated ? kTruncated : 0;
}

}  // namespace refhist::agent
