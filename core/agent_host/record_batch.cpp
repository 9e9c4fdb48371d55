#include "agent_host/record_batch.h"

#include <unordered_map>

namespace refhist {

std::uint32_t RecordBatch::number_of(const Call& call) {
  std::uint32_t& recent = recent_[(call.stack * 5 + call.site) % kRecent];
  if (recent < calls_.size() && calls_[recent] == call) return recent;
  recent = static_cast<std::uint32_t>(calls_.size());
  calls_.push_back(call);
  return recent;
}

void RecordBatch::add(const agent::Record& record) {
  in_order = in_order && record.time >= newest;
  newest = std::max(newest, record.time);
  if ((record.flags & agent::kCandidate) != 0) asks_at = std::min(asks_at, record.time);
  const Call call{record.sp,   record.return_pc, record.extra,
                  record.site, record.stack,     static_cast<std::uint32_t>(record.count >> 32U),
                  record.kind, record.flags,     record.depth};
  moments_.push_back({record.time, record.object, static_cast<std::uint32_t>(record.count), number_of(call)});
}

agent::Record RecordBatch::record(std::size_t at) const {
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
      if (!goes_on) streams_.emplace_back();
      streams_[known->second].parts.push_back({&batch, begin, end});
      begin = end;
    }
  }
  for (Stream& stream : streams_) std::reverse(stream.parts.begin(), stream.parts.end());
  std::make_heap(streams_.begin(), streams_.end(), &later);
}

RecordOrder::Stream RecordOrder::take_first() {
  std::pop_heap(streams_.begin(), streams_.end(), &later);
  Stream stream = std::move(streams_.back());
  streams_.pop_back();
  return stream;
}

void RecordOrder::put(Stream stream) {
  streams_.push_back(std::move(stream));
  std::push_heap(streams_.begin(), streams_.end(), &later);
}

}  // namespace refhist
