#include "agent_host/record_batch.h"

#include <unordered_map>

namespace refhist {

void RecordBatch::use(Memory memory, std::size_t records) {
  moments_ = std::move(memory.moments);
  calls_ = std::move(memory.calls);
  moments_.clear();
  calls_.clear();
  moments_.reserve(records);
}

RecordBatch::Memory RecordBatch::take_memory() { return {std::move(moments_), std::move(calls_)}; }

void RecordBatch::cut(std::uint64_t time, RecordBatch& later) {
  RecordBatch older;
  older.tid = later.tid = tid;
  older.thread_name = later.thread_name = thread_name;
  older.thread = later.thread = thread;
  older.late_until = later.late_until = late_until;
  older.told_before = later.told_before = told_before;
  for (std::size_t i = 0; i < size(); ++i) (moments_[i].time >= time ? later : older).add(record(i));
  *this = std::move(older);
}

RecordOrder::RecordOrder(const std::vector<RecordBatch>& batches) {
  std::unordered_map<long, std::size_t> newest_stream;  // by thread
  const auto end_of_part = [](const RecordBatch& batch, std::size_t begin) {
    if (batch.in_order) return batch.size();
    std::size_t end = begin + 1;
    while (end != batch.size() && batch.time(end - 1) <= batch.time(end)) ++end;
    return end;
  };
  for (const RecordBatch& batch : batches) {
    for (std::size_t begin = 0; begin != batch.size();) {
      const std::size_t end = end_of_part(batch, begin);
      const auto [known, added] = newest_stream.try_emplace(batch.tid, streams_.size());
      const bool goes_on = !added && streams_[known->second].newest() <= batch.time(begin);
      if (!added && !goes_on) known->second = streams_.size();
      if (!goes_on) {
        streams_.emplace_back();
        ++streams_of_[batch.tid];
      }
      streams_[known->second].parts.push_back({&batch, begin, end});
      begin = end;
    }
  }
  for (Stream& stream : streams_) {
    std::reverse(stream.parts.begin(), stream.parts.end());
    put(stream);
  }
}

}  // namespace refhist
