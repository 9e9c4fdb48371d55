// Takes the records out of the rings while the program runs, and keeps them in memory until the session asks.
// One thread of this process; it calls nothing of the debugger.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
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
  /// Events that the program had to drop: their ring stayed full, or there were too many threads.
  [[nodiscard]] std::uint64_t lost() const;
  [[nodiscard]] std::uint64_t drained() const { return drained_; }

 private:
  void run();
  bool drain_all();
  bool drain_slot(unsigned index);
  void release_ended();
  [[nodiscard]] std::string name_of(const agent::ThreadSlot& slot) const;

  const SharedArea& area_;
  long pid_;
  mutable std::mutex mutex_;  // one drainer at a time, and the batches
  std::vector<RecordBatch> batches_;
  std::uint64_t lost_of_released_ = 0;
  std::atomic<std::uint64_t> drained_ = 0;
  std::atomic<bool> ending_ = false;
  unsigned highest_slot_ = 0;  // slots ever seen taken: [0, highest)
  std::thread thread_;
};

/// The records of all batches in order of time, each with its batch. Calls `visit(batch, record)`.
template <class Visit>
void for_each_by_time(const std::vector<RecordBatch>& batches, Visit&& visit) {
  struct Place {
    const RecordBatch* batch;
    const agent::Record* record;
  };
  std::size_t count = 0;
  bool in_order = true;  // as it is when one thread runs
  std::uint64_t last = 0;
  for (const RecordBatch& batch : batches) {
    count += batch.records.size();
    for (const agent::Record& record : batch.records) {
      in_order = in_order && record.time >= last;
      last = record.time;
    }
  }
  if (in_order) {
    for (const RecordBatch& batch : batches) {
      for (const agent::Record& record : batch.records) visit(batch, record);
    }
    return;
  }
  std::vector<Place> places;
  places.reserve(count);
  for (const RecordBatch& batch : batches) {
    for (const agent::Record& record : batch.records) places.push_back({&batch, &record});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.record->time < b.record->time; });
  for (const Place& place : places) visit(*place.batch, *place.record);
}

}  // namespace refhist
