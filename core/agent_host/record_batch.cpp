#include "agent_host/record_batch.h"

#include <unordered_map>
#include <utility>

namespace refhist {

void RecordBatch::cut(std::uint64_t time, RecordBatch& later) {
  later.tid = tid;
  later.thread_name = thread_name;
  const auto is_later = [&](const agent::Record& record) { return record.time >= time; };
  const std::vector<agent::Record> disordered = in_order ? std::vector<agent::Record>() : records;
  const auto first = in_order ? std::find_if(records.begin(), records.end(), is_later) : records.begin();
  if (in_order) std::for_each(first, records.end(), [&](const agent::Record& record) { later.add(record); });
  records.erase(first, records.end());
  in_order = true;
  newest = records.empty() ? 0 : records.back().time;
  if (asks_at >= time) asks_at = ~std::uint64_t{0};
  for (const agent::Record& record : disordered) (is_later(record) ? later : *this).add(record);
}

RecordOrder::RecordOrder(const std::vector<RecordBatch>& batches) {
  std::unordered_map<long, std::size_t> newest_stream;  // by thread
  for (const RecordBatch& batch : batches) {
    const agent::Record* const end = batch.records.data() + batch.records.size();
    for (const agent::Record* begin = batch.records.data(); begin != end;) {
      const agent::Record* const next =
          batch.in_order ? end : std::is_sorted_until(begin, end, [](const auto& a, const auto& b) {
            return a.time < b.time;
          });
      const auto [known, added] = newest_stream.try_emplace(batch.tid, streams_.size());
      const bool goes_on = !added && streams_[known->second].parts.back().end[-1].time <= begin->time;
      if (!added && !goes_on) known->second = streams_.size();
      if (!goes_on) streams_.emplace_back();
      streams_[known->second].parts.push_back({&batch, begin, next});
      begin = next;
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
