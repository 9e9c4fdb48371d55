// Takes the records out of the rings while the program runs, and keeps them in memory until the session asks.
// One thread of this process; it calls nothing of the debugger.
//
// While the program runs, a thread may be about to write a record that is older than what the others have
// written since. `take_settled` gives only what nothing older can come before.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "agent_host/shared_area.h"

namespace refhist {

/// Records of one thread, in the order in which it made them.
struct RecordBatch {
  long tid = 0;
  std::string thread_name;  ///< as it was when the batch was taken, or when the thread was first seen
  std::vector<agent::Record> records;
  bool in_order = true;                       ///< by time
  std::uint64_t newest = 0;                   ///< time of the newest record
  std::uint64_t asks_at = ~std::uint64_t{0};  ///< time of the oldest record whose thread asks for a decision
  ThreadIndex thread;                         ///< in the history; for whoever hands the records on

  void add(const agent::Record& record) {
    in_order = in_order && record.time >= newest;
    newest = std::max(newest, record.time);
    if ((record.flags & agent::kCandidate) != 0) asks_at = std::min(asks_at, record.time);
    records.push_back(record);
  }
};

class EventDrain {
 public:
  EventDrain(const SharedArea& area, long pid);
  ~EventDrain();
  EventDrain(const EventDrain&) = delete;
  EventDrain& operator=(const EventDrain&) = delete;

  /// Everything recorded so far that nobody has taken yet, by time over all threads. Looks into the rings
  /// itself first.
  std::vector<RecordBatch> take();
  /// What may be handed on while the program runs: older than all that is still to come, and than the first
  /// record whose thread asks for a decision. Nothing once a thread of these records is not traced any more:
  /// it may have run on after the debugger has let go of it.
  std::vector<RecordBatch> take_settled();
  /// Room for records to come.
  void give_back(std::vector<RecordBatch> batches);
  /// Events that the program had to drop: their ring stayed full, or there were too many threads.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  void run();
  bool holds_back();
  bool drain_all();
  std::uint64_t settled_before(std::uint64_t now);
  std::vector<RecordBatch> split(std::uint64_t horizon);
  [[nodiscard]] bool all_traced(const std::vector<RecordBatch>& batches) const;
  bool drain_slot(unsigned index);
  void release_ended();
  [[nodiscard]] std::string name_of(const agent::ThreadSlot& slot) const;

  const SharedArea& area_;
  long pid_;
  mutable std::mutex mutex_;  // one drainer at a time, and the batches
  std::vector<RecordBatch> batches_;
  std::size_t waiting_ = 0;  // records in `batches_`
  std::vector<std::vector<agent::Record>> spare_;
  /// No record that this slot still has in progress, or has not begun, is older (time stamp).
  std::array<std::uint64_t, agent::kThreadSlots> nothing_before_{};
  std::uint64_t looked_at_ = 0;                      // time stamp of the last look at the slots
  std::chrono::steady_clock::time_point gave_at_{};  // something to take_settled
  std::chrono::steady_clock::time_point holding_since_{};
  std::uint64_t lost_of_released_ = 0;
  std::atomic<bool> ending_ = false;
  unsigned highest_slot_ = 0;  // slots ever seen taken: [0, highest)
  std::thread thread_;
};

/// The records of all batches in order of time, each with its batch. Calls `visit(batch, record)`. Batches of
/// one thread stand in the order in which it made them.
template <class Visit>
void for_each_by_time(const std::vector<RecordBatch>& batches, Visit&& visit) {
  struct Place {
    const RecordBatch* batch;
    const agent::Record* record;
  };
  std::size_t count = 0;
  bool in_order = true;  // as it is when one thread runs
  std::uint64_t newest = 0;
  for (const RecordBatch& batch : batches) {
    if (batch.records.empty()) continue;
    count += batch.records.size();
    in_order = in_order && batch.in_order && batch.records.front().time >= newest;
    newest = batch.newest;
  }
  if (in_order) {
    for (const RecordBatch& batch : batches) {
      for (const agent::Record& record : batch.records) visit(batch, record);
    }
    return;
  }
  std::vector<Place> places;
  std::vector<std::size_t> runs{0};  // where stretches that are in order begin
  places.reserve(count);
  for (const RecordBatch& batch : batches) {
    for (const agent::Record& record : batch.records) {
      if (!places.empty() && record.time < places.back().record->time) runs.push_back(places.size());
      places.push_back({&batch, &record});
    }
  }
  runs.push_back(places.size());
  const auto earlier = [](const Place& a, const Place& b) { return a.record->time < b.record->time; };
  const auto at = [&](std::size_t place) { return places.begin() + static_cast<std::ptrdiff_t>(place); };
  while (runs.size() > 2) {
    std::vector<std::size_t> merged;
    for (std::size_t i = 0; i < runs.size(); i += 2) {
      merged.push_back(runs[i]);
      if (i + 2 < runs.size()) std::inplace_merge(at(runs[i]), at(runs[i + 1]), at(runs[i + 2]), earlier);
    }
    if (merged.back() != places.size()) merged.push_back(places.size());
    runs = std::move(merged);
  }
  for (const Place& place : places) visit(*place.batch, *place.record);
}

}  // namespace refhist
