// Takes the records out of the rings while the program runs, and keeps them in memory until the session asks.
// One thread of this process; it calls nothing of the debugger. What neither the agent nor this side can have
// written is refused and counted (SharedArea::damage).
//
// While the program runs, a thread may be about to write a record that is older than what the others have
// written since. `take_settled` gives only what nothing older can come before.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent_host/record_batch.h"
#include "agent_host/record_check.h"
#include "agent_host/settled_time.h"
#include "agent_host/shared_area.h"
#include "agent_host/single_writer.h"
#include "agent_host/told_count.h"
#include "port/task_numbers.h"

namespace refhist {

class EventDrain {
 public:
  EventDrain(const SharedArea& area, long pid);
  ~EventDrain();
  EventDrain(const EventDrain&) = delete;
  EventDrain& operator=(const EventDrain&) = delete;

  /// Everything recorded before now that nobody has taken yet. Looks into the rings itself first. `next`: of
  /// the events that they will be.
  std::vector<RecordBatch> take(EventId next);
  /// What may be handed on while the program runs: older than all that is still to come, and than the first
  /// record whose thread asks for a decision. Nothing once a thread of these records is not traced any more:
  /// it may have run on after the debugger has let go of it.
  std::vector<RecordBatch> take_settled();
  /// Calls that a thread has begun to tell of, as far as it came, where `unreadable` says of the record that
  /// its look at the counter failed. Each is told once. Not while the program runs.
  std::vector<RecordBatch> take_unread(const std::function<bool(const agent::Record&)>& unreadable);
  /// What signal handlers on the thread have recorded while they interrupt a record of its own, which is not
  /// whole before they are through. Not while the thread runs.
  std::vector<RecordBatch> take_interrupting(long tid);
  /// Room for records to come.
  void give_back(std::vector<RecordBatch> batches);
  /// Threads that have ended and of which all has been taken. Each is told once.
  std::unordered_set<long> take_ended();
  /// Events that the program had to drop: their ring stayed full, or there were too many threads.
  [[nodiscard]] std::uint64_t lost();
  /// What the program should not have changed is written there again, and counted.
  void put_right();

 private:
  void run();
  bool holds_back();
  bool drain_all();
  void drain_older_than(std::uint64_t time);
  std::uint64_t settled_before(std::uint64_t now);
  std::vector<RecordBatch> split(std::uint64_t horizon);
  [[nodiscard]] bool any_runs(const std::vector<RecordBatch>& batches) const;
  [[nodiscard]] bool all_traced(const std::vector<RecordBatch>& batches) const;
  bool drain_slot(unsigned index);
  enum class Turn { unfinished, whole, damaged };
  [[nodiscard]] Turn turn_of(unsigned index, std::uint64_t record) const;
  std::uint64_t end_of(unsigned index);
  bool is_stuck(unsigned index, std::uint64_t end);
  bool begins_whole(unsigned index, std::uint64_t end);
  void pass_over(unsigned index, std::uint64_t record);
  bool copy_record(unsigned index, std::uint64_t next, agent::Record& record);
  void put_consumed_right(unsigned index);
  void put_tid_right(unsigned index);
  long tid_of(unsigned index);
  void give_to_owner(unsigned index);
  void note_unfinished(EventId next);
  /// True when the record was taken before its turn.
  bool was_early(unsigned index, std::uint64_t record);
  RecordBatch& batch_for(unsigned index);
  RecordBatch new_batch();
  void release_ended();
  const std::string& name_of(unsigned index);

  const SharedArea& area_;
  long pid_;
  TaskNumbers numbers_;
  std::mutex mutex_;  // one drainer at a time, and the batches
  std::vector<RecordBatch> batches_;
  std::array<std::uint32_t, agent::kThreadSlots>
      open_{};               // place in `batches_` of the slot's last one, from 1
  std::size_t waiting_ = 0;  // records in `batches_`
  std::uint64_t taken_ = 0;  // records, ever
  std::uint64_t oldest_found_ = 0;
  RecordCheck check_;
  /// What we know of a slot ourselves: the program can write there.
  struct Ring {
    long tid = 0;                ///< of its thread; 0: not known
    std::int32_t inside = 0;     ///< what the thread calls itself
    std::uint64_t consumed = 0;  ///< of its records, how many were taken or passed over
    ToldCount lost;
    std::uint64_t blocked_at = 0;  ///< the record that was not whole when it was looked for
    std::chrono::steady_clock::time_point blocked_since{};
    std::uint64_t taken_before = 0;  ///< `taken_` then
  };
  std::array<Ring, agent::kThreadSlots> rings_{};
  std::vector<RecordBatch::Memory> spare_;
  struct Named {
    long tid = 0;
    std::string name;
    std::chrono::steady_clock::time_point at{};
  };
  std::array<Named, agent::kThreadSlots> names_;           // of the slots' threads
  std::array<std::uint64_t, agent::kThreadSlots> told_{};  // of each slot: the last of take_unread, from 1
  std::unordered_map<unsigned, std::unordered_set<std::uint64_t>> early_;  // by slot: of take_interrupting
  struct Unfinished {
    std::uint64_t end = 0;  ///< of the records that had begun
    EventId told;           ///< the first event told while they were not whole
  };
  std::array<Unfinished, agent::kThreadSlots> unfinished_{};  // of each slot, at a take
  std::unordered_set<long> ended_;                            // threads that nobody has been told of yet
  SettledTime settled_;
  SingleWriter single_writer_;
  std::chrono::steady_clock::time_point gave_at_{};  // something to take_settled
  std::chrono::steady_clock::time_point holding_since_{};
  std::uint64_t lost_besides_ = 0;  // in slots given back, and in records that nobody finishes
  ToldCount slots_full_;
  std::atomic<bool> ending_ = false;
  unsigned highest_slot_ = 0;  // slots ever seen taken: [0, highest)
  std::thread thread_;
};

}  // namespace refhist
