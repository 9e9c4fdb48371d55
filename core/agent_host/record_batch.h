// Records of the agent's rings on their way to the recorder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_abi.h"
#include "base/types.h"

namespace refhist {

/// Records of one thread, in the order in which it made them. Packed: where a program makes them faster than
/// they are worked off, the memory that they wait in would cost more than all else.
class RecordBatch {
 public:
  long tid = 0;
  std::string thread_name;   ///< as it was when the records were taken, or when the thread was first seen
  bool in_order = true;      ///< by time
  std::uint64_t newest = 0;  ///< time of the newest record
  std::uint64_t asks_at = ~std::uint64_t{0};  ///< time of the oldest record whose thread asks for a decision
  ThreadIndex thread;                         ///< in the history; for whoever hands the records on

  void add(const agent::Record& record);
  /// Keeps what is older than the time stamp. The rest goes into `later`.
  void cut(std::uint64_t time, RecordBatch& later);

  [[nodiscard]] std::size_t size() const { return moments_.size(); }
  [[nodiscard]] bool empty() const { return moments_.empty(); }
  [[nodiscard]] std::uint64_t time(std::size_t at) const { return moments_[at].time; }
  /// All but its lap.
  [[nodiscard]] agent::Record record(std::size_t at) const;

  /// Memory for so many records, perhaps that of another batch.
  struct Memory;
  void use(Memory memory, std::size_t records);
  [[nodiscard]] Memory take_memory();

 private:
  /// What differs from one record to the next.
  struct Moment {
    std::uint64_t time;
    std::uint64_t object;
    std::uint32_t count;  // the low half
    std::uint32_t call;   // in calls_
  };
  /// What many records have in common: a call from one place.
  struct Call {
    std::uint64_t sp;
    std::uint64_t return_pc;
    std::uint64_t extra;
    std::uint32_t site;
    std::uint32_t stack;
    std::uint32_t count_above;  // the counter's high half
    agent::RecordKind kind;
    std::uint8_t flags;
    std::uint16_t depth;
    bool operator==(const Call&) const = default;
  };
  static constexpr std::size_t kRecent = 64;
  std::uint32_t number_of(const Call& call);

  std::vector<Moment> moments_;
  std::vector<Call> calls_;
  std::array<std::uint32_t, kRecent> recent_{};  // numbers in calls_, by stack and site
};

struct RecordBatch::Memory {
  std::vector<Moment> moments;
  std::vector<Call> calls;
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
        const Part& part = stream.parts.back();
        visit(*part.batch, part.batch->record(part.next));
      } while (stream.advance() && stream.time() <= limit);
      if (!stream.parts.empty()) put(std::move(stream));
    }
  }

 private:
  /// Records [next, end) of a batch, in order of time.
  struct Part {
    const RecordBatch* batch;
    std::size_t next;
    std::size_t end;
  };
  /// Records of one thread in order of time, the first part last. A signal handler that interrupts the agent
  /// begins another one.
  struct Stream {
    std::vector<Part> parts;
    [[nodiscard]] std::uint64_t time() const { return parts.back().batch->time(parts.back().next); }
    /// Of the last one.
    [[nodiscard]] std::uint64_t newest() const { return parts.back().batch->time(parts.back().end - 1); }
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
