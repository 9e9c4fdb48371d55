#include "history/event_log.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace refhist {

std::size_t EventLog::OriginHash::operator()(const Origin& origin) const noexcept {
  const auto mix = [](std::uint64_t x) { return (x ^ (x >> 32U)) * 0x9e3779b97f4a7c15ULL; };
  const std::uint64_t where = std::uint64_t{origin.stack.value} << 32U | origin.site.value;
  const std::uint64_t what = std::uint64_t{origin.thread.value} << 32U | origin.kind;
  return static_cast<std::size_t>(mix(mix(where) + what) >> 20U);
}

std::uint32_t EventLog::intern(const Origin& origin) {
  std::uint32_t& recent = recent_[OriginHash{}(origin) % kRecentOrigins];
  if (recent < origins_.size() && origins_[recent] == origin) return recent;
  const auto [entry, added] = origin_ids_.try_emplace(origin, static_cast<std::uint32_t>(origins_.size()));
  if (added) origins_.push_back(origin);
  return recent = entry->second;
}

// A page has gaps everywhere or nowhere.
void EventLog::Blocks::begin(bool sparse) {
  const bool first_dense = !sparse && places.size() == firsts.size();
  if (first_dense || used + kBlock * kLongestEvent > kPage) {
    if (!pages.empty()) ends.push_back(static_cast<std::uint32_t>(used));
    pages.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(kPage));
    last_page = pages.back().get();
    used = 0;
  }
  places.push_back((pages.size() - 1) * kPage + used);
}

void EventLog::begin_block(Blocks& blocks, EventId id, bool sparse) {
  blocks.begin(sparse);
  position_ = EventPosition{0, 0, id.value};
  if (sparse) blocks.firsts.push_back(id.value);
}

std::uint32_t EventLog::origin_of(const Event& event) {
  return intern(Origin{event.site, event.thread, event.stack, event_kind(event)});
}

void EventLog::refuse_more() const {
  fail("{} events are the most that can be recorded: refhist reset starts over", size_);
}

void EventLog::retain(const std::function<bool(Entry& entry)>& keep) {
  Blocks left;
  std::size_t released = 0;  // pages: what has been read is not needed any more
  for (std::size_t i = 0; i < blocks_.places.size(); ++i) {
    for (; released < blocks_.places[i] / kPage; ++released) blocks_.pages[released].reset();
    const EventBlock block = this->block(i);
    EventReader reader(origins_, block);
    for (std::size_t n = 0; n < block.count; ++n) {
      Entry entry = reader.next();
      if (keep(entry)) write(left, entry, entry.event, true);
    }
  }
  left.dense_from = size_;
  blocks_ = std::move(left);
}

std::size_t EventLog::block_of(EventId id) const {
  if (id.index() >= blocks_.dense_from)
    return blocks_.firsts.size() + (id.index() - blocks_.dense_from) / kBlock;
  const auto behind = std::upper_bound(blocks_.firsts.begin(), blocks_.firsts.end(), id.value);
  return behind == blocks_.firsts.begin() ? 0 : static_cast<std::size_t>(behind - blocks_.firsts.begin()) - 1;
}

std::size_t EventLog::events_in(std::size_t block) const {
  const std::size_t sparse = blocks_.firsts.size();
  const std::size_t all = block < sparse ? blocks_.sparse_events : size_ - blocks_.dense_from;
  return std::min(kBlock, all - (block < sparse ? block : block - sparse) * kBlock);
}

EventBlock EventLog::block(std::size_t number) const {
  const std::uint64_t place = blocks_.places[number];
  const std::size_t sparse = blocks_.firsts.size();
  const EventId first = number < sparse ? EventId(blocks_.firsts[number])
                                        : EventId(blocks_.dense_from + (number - sparse) * kBlock);
  return {bytes_of(place / kPage) + place % kPage, first, events_in(number), number < sparse};
}

const std::uint8_t* EventLog::bytes_of(std::size_t page) const {
  if (blocks_.pages[page] == nullptr) load(page);
  return blocks_.pages[page].get();
}

std::pair<std::size_t, std::size_t> EventLog::blocks_of(std::size_t page) const {
  const auto begin = blocks_.places.begin();
  const auto first = std::lower_bound(begin, blocks_.places.end(), page * kPage);
  const auto behind = std::lower_bound(first, blocks_.places.end(), (page + 1) * kPage);
  return {first - begin, behind - begin};
}

EventLog::Page EventLog::page(std::size_t number) const {
  const std::uint8_t* bytes = bytes_of(number);
  Page page{{bytes, number < blocks_.ends.size() ? blocks_.ends[number] : blocks_.used}, {}, {}};
  const auto [first, behind] = blocks_of(number);
  for (std::size_t i = first; i < behind; ++i) {
    page.blocks.push_back(static_cast<std::uint16_t>(blocks_.places[i] % kPage));
    if (i < blocks_.firsts.size()) page.firsts.emplace_back(blocks_.firsts[i]);
  }
  return page;
}

EventLog EventLog::open(Stored stored) {
  EventLog log;
  Blocks& blocks = log.blocks_;
  for (const Page& page : stored.pages) {
    const bool sparse = !page.firsts.empty();
    if (sparse && (page.firsts.size() != page.blocks.size() || blocks.firsts.size() != blocks.places.size()))
      fail("its events are damaged");
    for (std::size_t i = 0; i < page.blocks.size(); ++i) {
      if (i != 0 && page.blocks[i] <= page.blocks[i - 1]) fail("its events are damaged");
      blocks.places.push_back(blocks.pages.size() * kPage + page.blocks[i]);
      if (!sparse) continue;
      const std::uint32_t first = page.firsts[i].value;
      if (first >= stored.dense_from || (!blocks.firsts.empty() && first <= blocks.firsts.back()))
        fail("its events are damaged");
      blocks.firsts.push_back(first);
    }
    blocks.pages.emplace_back();
  }
  const auto whole = [](std::size_t events, std::size_t count) {
    if (count != (events + kBlock - 1) / kBlock) fail("its events are not complete");
  };
  if (stored.dense_from > stored.events || stored.sparse_events > stored.dense_from)
    fail("its events are damaged");
  whole(stored.sparse_events, blocks.firsts.size());
  whole(stored.events - stored.dense_from, blocks.places.size() - blocks.firsts.size());
  for (const Origin& origin : stored.origins) {
    if (!is_event_kind(origin.kind)) fail("its events are damaged");
  }
  blocks.ends.resize(blocks.pages.size());
  blocks.sparse_events = stored.sparse_events;
  blocks.dense_from = stored.dense_from;
  log.size_ = stored.events;
  log.origins_ = stored.origins;
  log.stored_ = std::make_shared<const Stored>(std::move(stored));
  return log;
}

void EventLog::load(std::size_t page) const {
  const std::vector<std::uint8_t> bytes = stored_->read(page);
  const auto [first, behind] = blocks_of(page);
  if (bytes.size() > std::min(kPage, (behind - first) * kBlock * kLongestEvent))
    fail("its events are damaged");
  EventCheck check(origins_, stored_->objects, bytes);
  for (std::size_t i = first; i < behind; ++i) {
    const std::size_t sparse = blocks_.firsts.size();
    const bool gaps = i < sparse;
    const EventId id =
        gaps ? EventId(blocks_.firsts[i]) : EventId(blocks_.dense_from + (i - sparse) * kBlock);
    const std::size_t end = !gaps ? size_ : i + 1 < sparse ? blocks_.firsts[i + 1] : blocks_.dense_from;
    check.block(blocks_.places[i] % kPage, EventBlock{nullptr, id, events_in(i), gaps}, end);
  }
  auto copy = std::make_unique_for_overwrite<std::uint8_t[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  blocks_.pages[page] = std::move(copy);
  blocks_.ends[page] = static_cast<std::uint32_t>(bytes.size());
}

std::uint32_t EventLog::origin_of(EventId id) const {
  return id.index() + 1 == size_ && !stored_ ? last_origin_ : at(id).origin;
}

bool EventLog::contains(EventId id) const {
  if (id.index() >= size_) return false;
  if (id.index() >= blocks_.dense_from) return true;
  if (blocks_.firsts.empty()) return false;
  const EventBlock block = this->block(block_of(id));
  EventReader reader(origins_, block);
  for (std::size_t i = 0; i < block.count; ++i) {
    if (reader.next_id() == id) return true;
    reader.pass();
  }
  return false;
}

EventLog::Entry EventLog::at(EventId id) const {
  const std::size_t number = block_of(id);
  if (number < blocks_.places.size()) {
    const EventBlock block = this->block(number);
    EventReader reader(origins_, block);
    for (std::size_t i = 0; i < block.count; ++i) {
      if (reader.next_id() == id) return reader.rest();
      reader.pass();
    }
  }
  refuse_missing(id);
}

void EventLog::Reader::read_block(EventId id) {
  entries_.clear();
  const std::size_t number = log_.block_of(id);
  if (number < log_.blocks_.places.size()) {
    const EventBlock block = log_.block(number);
    EventReader reader(log_.origins_, block);
    for (std::size_t i = 0; i < block.count && (entries_.empty() || entries_.back().id < id); ++i)
      entries_.push_back(reader.next());
  }
  if (entries_.empty() || entries_.back().id != id) refuse_missing(id);
}

void EventLog::refuse_missing(EventId id) { fail("event #{} has been summarized", id.value); }

void EventLog::expect_place(EventId id) const {
  const std::size_t number = block_of(id);
  if (number < blocks_.places.size()) __builtin_prefetch(&blocks_.places[number]);
}

void EventLog::expect(EventId id) const {
  constexpr std::size_t kLine = 64;  // bytes; a block has a few
  const std::size_t number = block_of(id);
  if (number >= blocks_.places.size()) return;
  const std::uint64_t place = blocks_.places[number];
  const std::uint8_t* page = blocks_.pages[place / kPage].get();
  if (page == nullptr) return;
  for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(page + place % kPage + line * kLine);
}

std::size_t EventLog::bytes() const {
  // A hash table entry costs its value, a next pointer and, on average, one bucket pointer.
  const auto loaded = std::count_if(blocks_.pages.begin(), blocks_.pages.end(),
                                    [](const auto& page) { return page != nullptr; });
  return static_cast<std::size_t>(loaded) * kPage + blocks_.places.capacity() * sizeof(std::uint64_t) +
         blocks_.firsts.capacity() * sizeof(std::uint32_t) + origins_.capacity() * sizeof(Origin) +
         origin_ids_.size() * (sizeof(Origin) + sizeof(std::uint32_t) + 2 * sizeof(void*));
}

}  // namespace refhist
