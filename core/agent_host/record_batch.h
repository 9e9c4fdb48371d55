// Records of the agent's rings on their way to the recorder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/agent_abi.h"
#include "base/types.h"

namespace refhist {

/// Records of one thread, in the order in which it made them.
struct RecordBatch {
  long tid = 0;
  std::string thread_name;  ///< as it was when the records were taken, or when the thread was first seen
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
  /// Keeps what is older than the time stamp. The rest goes into `later`, whose `records` may bring their
  /// memory.
  void cut(std::uint64_t time, RecordBatch& later);
};

/// Puts batches into the order of time. Batches of one thread stand in the order in which it made them.
class RecordOrder {
 public:
  explicit RecordOrder(const std::vector<RecordBatch>& batches);

  /// Calls `visit(batch, record)` for each record.
  template <class Visit>
  void for_each(Visit&& visit) {
    while (!streams_.empty()) {
      Stream stream = take_first();
      const std::uint64_t limit = streams_.empty() ? ~std::uint64_t{0} : streams_.front().time();
      do {
        visit(*stream.parts.back().batch, *stream.parts.back().next);
      } while (stream.advance() && stream.time() <= limit);
      if (!stream.parts.empty()) put(std::move(stream));
    }
  }

 private:
  /// Records [next, end) of a batch, in order of time.
  struct Part {
    const RecordBatch* batch;
    const agent::Record* next;
    const agent::Record* end;
  };
  /// Records of one thread in order of time, the first part last. A signal handler that interrupts the agent
  /// begins another one.
  struct Stream {
    std::vector<Part> parts;
    [[nodiscard]] std::uint64_t time() const { return parts.back().next->time; }
    bool advance() {
      if (++parts.back().next == parts.back().end) parts.pop_back();
      return !parts.empty();
    }
  };
  static bool later(const Stream& a, const Stream& b) { return a.time() > b.time(); }
  Stream take_first();
  void put(Stream stream);

  std::vector<Stream> streams_;  // a heap, the oldest record first
};

}  // namespace refhist
