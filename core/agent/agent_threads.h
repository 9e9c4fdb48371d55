// The agent's view of the thread that it runs on: its slot, its ring, and how deep in signal handlers it is.
#pragma once

#include "agent/agent_abi.h"
#include "agent/stack_walker.h"

namespace refhist::agent {

/// The number that a whole record of this index bears in `lap`; never 0.
inline uint32_t lap_of(uint64_t index) { return static_cast<uint32_t>(index / kRingRecords) + 1; }

/// One run of the agent on a thread. A signal handler that interrupts it makes another one inside.
class Activation {
 public:
  Activation(const volatile Config& config, uint64_t sp);
  ~Activation();
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  /// Takes the next place in the ring. False when nothing is to be recorded, or nothing can be.
  bool begin_record(uint64_t& index);
  /// Is there anything to record to?
  [[nodiscard]] bool records() const { return slot_ != nullptr; }
  ThreadSlot& thread() { return *slot_; }
  [[nodiscard]] uint32_t number() const { return slot_index_ + 1; }  ///< of the thread's slot, from 1
  [[nodiscard]] Shared* shared() const { return shared_; }
  Record& record(uint64_t index) { return ring_[index % kRingRecords]; }
  /// The stack at a function's entry, into the record.
  void capture_stack(Record& record, uint64_t entry_sp, uint64_t rbp, uint8_t& flags);

 private:
  bool find_slot();
  bool take_slot(ThreadTableEntry& entry, uint64_t thread_pointer, uint32_t tid);
  [[nodiscard]] bool has_room() const;
  bool wait_for_room();
  void enter_level();

  const volatile Config& config_;
  Shared* shared_ = nullptr;
  ThreadSlot* slot_ = nullptr;
  Record* ring_ = nullptr;
  uint64_t sp_;
  uint32_t slot_index_ = 0;
  uint32_t outer_level_ = 0;
};

}  // namespace refhist::agent
