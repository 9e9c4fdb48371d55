#include "agent/agent_threads.h"

#include "agent/instructions.h"
#include "agent/object_entry.h"

namespace refhist::agent {

namespace {

constexpr int64_t kGettid = 186;
constexpr int64_t kPrctl = 157;
constexpr uint64_t kGetName = 16;
constexpr unsigned kSpins = 200;      // pauses before the first sleep
constexpr unsigned kSleeps = 20000;   // of 100 us: two seconds, then the event is counted as lost
constexpr unsigned kPatience = 5000;  // sleeps without a sign of life from the debugger

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

// A signal handler has jumped out of the outermost run: this one is not further in, and not on a signal
// stack, or something else stands where the other would return to its stub.
bool was_left(const Config& config, const AgentThread& thread, uint64_t sp) {
  const bool confined = is_confined(*thread.shared);
  if (sp >= thread.slot->oldest_sp && !on_signal_stack(confined)) return true;
  const uint64_t return_slot = thread.slot->oldest_sp - sizeof(uint64_t);
  if (confined || !ReadableMemory::can_read(return_slot)) return false;
  return !is_in_code(config, load(return_slot, sizeof(uint64_t)));
}

// What it and those inside of it have begun is not finished by anybody any more. The debugger waits for it.
void give_up_records(const AgentThread& thread) {
  const uint64_t consumed = __atomic_load_n(&thread.slot->consumed, __ATOMIC_ACQUIRE);
  for (uint64_t index = consumed; index != thread.slot->reserved; ++index) {
    Record& left = record_of(thread.shared, thread.index, index);
    if (left.lap == lap_of(index)) continue;
    if (left.kind == RecordKind::returned) ++thread.slot->lost;  // at an entry the function has not run
    left.kind = RecordKind::nothing;
    left.flags = 0;
    __atomic_store_n(&left.lap, lap_of(index), __ATOMIC_RELEASE);
  }
}

void give_up_left(const AgentThread& thread) {
  give_up_records(thread);
  auto* walkers = at<WalkerThread>(thread.shared, thread.shared->walkers) + thread.index * kWalkers;
  for (uint32_t i = 0; i < kWalkers; ++i) walkers[i].forget();
  if (thread.slot->held == 0) return;
  auto& entry = *at<ObjectEntry>(thread.shared, thread.slot->held);
  uint32_t holder = thread.number();
  thread.slot->held = 0;
  __atomic_compare_exchange_n(&entry.holder, &holder, 0U, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void take(ThreadSlot& slot, int32_t tid, uint32_t owner, bool confined) {
  slot.level = 0;
  slot.owner = owner;
  __atomic_store_n(&slot.tid, tid, __ATOMIC_RELEASE);  // the debugger looks for the owner once it sees this
  slot.name[0] = 0;
  if (!confined) system_call(kPrctl, kGetName, reinterpret_cast<uint64_t>(slot.name));
}

uint32_t take_slot(Shared* shared, ThreadTableEntry& entry, uint32_t tid) {
  auto* slots = at<ThreadSlot>(shared, shared->slots);
  const bool confined = is_confined(*shared);
  const auto kernel_tid = static_cast<int32_t>(confined ? tid : system_call(kGettid));
  if (entry.slot != 0 && slots[entry.slot - 1].taken != 0 && slots[entry.slot - 1].tid == kernel_tid) {
    entry.tid = tid;  // the same thread: the C library has only now written its id
    return entry.slot - 1;
  }
  const uint32_t begin = __atomic_fetch_add(&shared->slot_hint, 1U, __ATOMIC_RELAXED);
  for (uint32_t tries = 0; tries < shared->thread_slots; ++tries) {
    const uint32_t i = (begin + tries) % shared->thread_slots;
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&slots[i].taken, &free, 1U, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    take(slots[i], kernel_tid, tid, confined);
    entry.slot = i + 1;
    entry.tid = tid;
    return i;
  }
  return AgentThread::kNone;
}

uint32_t slot_of_thread(const Config& config, Shared* shared) {
  const uint64_t pointer = thread_pointer();
  const uint32_t tid =
      pointer == 0 ? 0 : *reinterpret_cast<const volatile uint32_t*>(pointer + config.tid_offset);
  auto* table = at<ThreadTableEntry>(shared, shared->table);
  // Entries are never taken out, only used again by a thread with the same pointer: a free one ends the
  // search. A thread pointer of 0, before the C library has set one, has an entry of its own behind the
  // table.
  if (pointer == 0) return take_slot(shared, table[kThreadTable], tid);
  for (uint32_t i = start_of_search(pointer), tries = 0; tries < kThreadTable; ++tries) {
    ThreadTableEntry& entry = table[i];
    uint64_t there = __atomic_load_n(&entry.thread_pointer, __ATOMIC_RELAXED);
    if (there == 0 && __atomic_compare_exchange_n(&entry.thread_pointer, &there, pointer, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return take_slot(shared, entry, tid);
    }
    if (there == pointer)
      return entry.tid != tid || entry.slot == 0 ? take_slot(shared, entry, tid) : entry.slot - 1;
    i = (i + 1) % kThreadTable;
  }
  return AgentThread::kNone;
}

bool room_comes(Shared* shared, const ThreadSlot& slot) {
  if (__atomic_load_n(&shared->unattended, __ATOMIC_RELAXED) != 0) return false;
  uint64_t heartbeat = 0;
  for (unsigned i = 0; i < kSpins + kSleeps; ++i) {
    if (has_room(slot)) return true;
    if (i < kSpins) {
      pause();
    } else {
      sleep_a_little(is_confined(*shared));
    }
    const unsigned slept = i < kSpins ? 0 : i - kSpins;
    if (slept % kPatience != 0) continue;
    const uint64_t now = __atomic_load_n(&shared->heartbeat, __ATOMIC_RELAXED);
    if (slept != 0 && now == heartbeat) {
      // The debugger stands still, or is gone. It says that it is back.
      __atomic_store_n(&shared->unattended, 1U, __ATOMIC_RELAXED);
      return false;
    }
    heartbeat = now;
  }
  return false;
}

}  // namespace

uint32_t find_slot(const Config& config, Shared* shared) {
  const uint32_t slot = slot_of_thread(config, shared);
  if (slot == AgentThread::kNone) __atomic_fetch_add(&shared->slots_full, 1U, __ATOMIC_RELAXED);
  return slot;
}

bool wait_for_room(Shared* shared, ThreadSlot* slot) {
  if (room_comes(shared, *slot)) return true;
  ++slot->lost;
  return false;
}

uint32_t levels_outside(const Config& config, AgentThread thread, uint64_t sp) {
  if (!was_left(config, thread, sp)) return thread.slot->level;
  give_up_left(thread);
  return 0;
}

}  // namespace refhist::agent
