// Records of the agent's rings on their way to the recorder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
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
  /// Records up to that time were in progress when others were taken that may be newer: the events from there
  /// on.
  std::uint64_t late_until = 0;
  EventId told_before;
  ThreadIndex thread;  ///< in the history; for whoever hands the records on

  void note_late(const agent::Record& record, EventId told) {
    late_until = std::max(late_until, record.time);
    told_before = std::min(told_before, told);  // an invalid one is larger than all others
  }
  void add(const agent::Record& record) {
    in_order = in_order && record.time >= newest;
    newest = std::max(newest, record.time);
    if ((record.flags & agent::kCandidate) != 0) asks_at = std::min(asks_at, record.time);
    moments_.push_back(
        {record.time, record.object, static_cast<std::uint32_t>(record.count), number_of(record)});
  }
  /// Keeps what is older than the time stamp. The rest goes into `later`.
  void cut(std::uint64_t time, RecordBatch& later);

  [[nodiscard]] std::size_t size() const { return moments_.size(); }
  [[nodiscard]] bool empty() const { return moments_.empty(); }
  [[nodiscard]] std::uint64_t time(std::size_t at) const { return moments_[at].time; }
  /// All but its lap.
  [[nodiscard]] agent::Record record(std::size_t at) const {
    const Moment& moment = moments_[at];
    const Call& call = calls_[moment.call];
    agent::Record record{};
    record.time = moment.time;
    record.object = moment.object;
    record.count = std::uint64_t{call.count_above} << 32U | moment.count;
    record.sp = call.sp;
    record.return_pc = call.return_pc;
    record.extra = call.extra;
    record.site = call.site;
    record.stack = call.stack;
    record.kind = call.kind;
    record.flags = call.flags;
    record.depth = call.depth;
    return record;
  }

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
    explicit Call(const agent::Record& record)
        : sp(record.sp),
          return_pc(record.return_pc),
          extra(record.extra),
          site(record.site),
          stack(record.stack),
          count_above(static_cast<std::uint32_t>(record.count >> 32U)),
          kind(record.kind),
          flags(record.flags),
          depth(record.depth) {}
    [[nodiscard]] bool is_of(const agent::Record& record) const {
      return sp == record.sp && return_pc == record.return_pc && extra == record.extra &&
             site == record.site && stack == record.stack && count_above == record.count >> 32U &&
             kind == record.kind && flags == record.flags && depth == record.depth;
    }
  };
  static constexpr std::size_t kRecent = 64;
  std::uint32_t number_of(const agent::Record& record) {
    std::uint32_t& recent = recent_[(record.stack * 5 + record.site) % kRecent];
    if (recent < calls_.size() && calls_[recent].is_of(record)) return recent;
    recent = static_cast<std::uint32_t>(calls_.size());
    calls_.emplace_back(record);
    return recent;
  }

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
    for_each(visit, [](long) {});
  }
  /// The same, and `last_of(tid)` after the last one of each thread.
  template <class Visit, class LastOf>
  void for_each(Visit&& visit, LastOf&& last_of) {
    while (!heads_.empty()) {
      Stream& stream = streams_[take_first()];
      const std::uint64_t limit = heads_.empty() ? ~std::uint64_t{0} : heads_.front().time;
      const long tid = stream.parts.back().batch->tid;
      do {
        const Part& part = stream.parts.back();
        const agent::Record record = part.batch->record(part.next);
        visit(*part.batch, record);
      } while (stream.advance() && stream.time() <= limit);
      if (!stream.parts.empty()) {
        put(stream);
      } else if (--streams_of_[tid] == 0) {
        last_of(tid);
      }
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
  struct Head {
    std::uint64_t time;
    std::size_t stream;
    bool operator<(const Head& other) const { return time > other.time; }
  };
  std::size_t take_first() {
    std::pop_heap(heads_.begin(), heads_.end());
    const std::size_t stream = heads_.back().stream;
    heads_.pop_back();
    return stream;
  }
  void put(const Stream& stream) {
    heads_.push_back({stream.time(), static_cast<std::size_t>(&stream - streams_.data())});
    std::push_heap(heads_.begin(), heads_.end());
  }

  std::vector<Stream> streams_;
  std::unordered_map<long, std::size_t> streams_of_;  // of each thread: how many have records left
  std::vector<Head> heads_;  // of those that have records left: a heap, the oldest record first
};

}  // namespace refhist
