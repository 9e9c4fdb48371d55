// All events in order, about ten bytes each.
//
// What events have in common is stored once: site, thread, stack, role and the step of the count make an
// origin, of which there are as many as there are ways to a probe. An event is then a few small numbers: its
// origin, and the differences of time, object and position to events before it. Every kBlock events the
// differences begin anew, so that any event is read in the same short time.
//
// Events may be left out later (`retain`); the others keep their ids. The blocks that were gone through then
// tell the gaps between their events; those that are recorded behind have none.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "history/event.h"
#include "history/event_codec.h"

namespace refhist {

class EventLog {
 public:
  using Entry = EventEntry;
  using Origin = EventOrigin;

  /// `previous`: the event of the same object before this one; invalid when this is its first.
  EventId append(const Event& event, EventId previous) { return append(event, previous, origin_of(event)); }
  /// The same, sooner: `origin` is what origin_of told of another event with the same site, thread, stack,
  /// role, flags and step.
  EventId append(const Event& event, EventId previous, std::uint32_t origin) {
    if (size_ >= EventId::kNone) refuse_more();
    last_origin_ = origin;
    const EventId id(size_);
    write(blocks_, {id, previous, origin}, event, false);
    ++size_;
    return id;
  }
  std::uint32_t origin_of(const Event& event);

  /// Reads up to kBlock entries to get there. Throws Error when the event was left out.
  [[nodiscard]] Entry at(EventId id) const;
  [[nodiscard]] bool contains(EventId id) const;
  /// Reads one event after another, soonest from the last to the first: what `at` passes by is kept.
  class Reader {
   public:
    explicit Reader(const EventLog& log) : log_(log) { entries_.reserve(kBlock); }
    /// Valid until the next call. Throws Error when the event was left out.
    const Entry& at(EventId id) {
      if (entries_.empty() || id < entries_.front().id || id > entries_.back().id) read_block(id);
      while (entries_.back().id > id) entries_.pop_back();
      if (entries_.back().id != id) refuse_missing(id);
      return entries_.back();
    }

   private:
    void read_block(EventId id);

    const EventLog& log_;
    std::vector<Entry> entries_;  // of one block, from its beginning to the event that was asked for last
  };
  /// Has the processor fetch what `at` is going to read: first where the event lies, then what is there.
  void expect_place(EventId id) const;
  void expect(EventId id) const;
  /// How many ids were given, and how many events are left.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t kept() const { return blocks_.sparse_events + size_ - blocks_.dense_from; }
  [[nodiscard]] std::size_t bytes() const;

  static constexpr std::size_t kBlock = 32;        ///< events; the last block may have fewer
  static constexpr std::size_t kPage = 1U << 16U;  ///< bytes; a block lies in one page

  /// The index of the event's origin.
  [[nodiscard]] std::uint32_t origin_of(EventId id) const;

  /// Calls `told(entry)` for the events from `from` on, in order.
  template <class Told>
  void for_each(EventId from, Told&& told) const {
    for (std::size_t i = block_of(from); i < blocks_.places.size(); ++i) {
      const EventBlock block = this->block(i);
      EventReader reader(origins_, block);
      for (std::size_t n = 0; n < block.count; ++n) {
        const Entry entry = reader.next();
        if (entry.id >= from) told(entry);
      }
    }
  }
  /// Leaves out the events for which `keep` does not hold. It is asked in order, and may change an entry's
  /// `previous`.
  void retain(const std::function<bool(Entry& entry)>& keep);

  /// How the events lie in memory, and in a file.
  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  [[nodiscard]] std::size_t pages() const { return blocks_.pages.size(); }
  struct Page {
    std::span<const std::uint8_t> bytes;
    std::vector<std::uint16_t> blocks;  ///< where each of its blocks begins
    std::vector<EventId> firsts;        ///< the first event of each, where events have been left out
  };
  [[nodiscard]] Page page(std::size_t number) const;
  /// Events in blocks with gaps, and the first event behind them.
  [[nodiscard]] std::size_t sparse_events() const { return blocks_.sparse_events; }
  [[nodiscard]] EventId dense_from() const { return EventId(blocks_.dense_from); }

  /// The events of a file. Pages are asked for when they are needed, and checked then.
  struct Stored {
    std::size_t events = 0;  ///< ids
    std::size_t objects = 0;
    std::size_t sparse_events = 0;
    std::size_t dense_from = 0;
    std::vector<Origin> origins;
    std::vector<Page> pages;  ///< without their bytes
    std::function<std::vector<std::uint8_t>(std::size_t page)> read;
  };
  /// Nothing can be appended to it. Throws Error when the numbers do not fit together; `at` does when a page
  /// is damaged.
  static EventLog open(Stored stored);

 private:
  static constexpr std::size_t kLongestEvent = 64;    // bytes
  static constexpr std::size_t kRecentOrigins = 512;  // a power of two

  struct OriginHash {
    std::size_t operator()(const Origin& origin) const noexcept;
  };
  struct Blocks {
    mutable std::vector<std::unique_ptr<std::uint8_t[]>> pages;  // of a file: null until it is asked for
    mutable std::vector<std::uint32_t> ends;                     // bytes used of each page but the last
    std::uint8_t* last_page = nullptr;
    std::size_t used = kPage;           // bytes of the last page
    std::vector<std::uint64_t> places;  // of each block: page * kPage + offset
    std::vector<std::uint32_t> firsts;  // the first event of each sparse block
    std::size_t sparse_events = 0;
    std::size_t dense_from = 0;  // the first event behind the sparse blocks
    void begin(bool sparse);
  };

  std::uint32_t intern(const Origin& origin);
  [[nodiscard]] EventBlock block(std::size_t number) const;
  [[nodiscard]] std::size_t block_of(EventId id) const;
  [[nodiscard]] std::size_t events_in(std::size_t block) const;
  [[noreturn]] void refuse_more() const;
  [[noreturn]] static void refuse_missing(EventId id);
  void begin_block(Blocks& blocks, EventId id, bool sparse);
  void write(Blocks& blocks, const EventLinks& links, const Event& event, bool sparse) {
    const std::size_t before = sparse ? blocks.sparse_events : links.id.index() - blocks.dense_from;
    if (before % kBlock == 0) begin_block(blocks, links.id, sparse);
    std::uint8_t* const begin = blocks.last_page + blocks.used;
    EventWriter writer(begin);
    writer.event(links, event, position_, sparse);
    blocks.used += static_cast<std::size_t>(writer.place() - begin);
    if (sparse) ++blocks.sparse_events;
  }
  /// Of a page: its first block, and the first one behind it.
  [[nodiscard]] std::pair<std::size_t, std::size_t> blocks_of(std::size_t page) const;
  [[nodiscard]] const std::uint8_t* bytes_of(std::size_t page) const;
  void load(std::size_t page) const;

  Blocks blocks_;
  std::shared_ptr<const Stored> stored_;  // null: these events were recorded here
  EventPosition position_;                // of the event that was appended last
  std::uint32_t last_origin_ = kNoOrigin;
  std::size_t size_ = 0;
  std::vector<Origin> origins_;
  std::unordered_map<Origin, std::uint32_t, OriginHash> origin_ids_;
  std::array<std::uint32_t, kRecentOrigins> recent_{};  // by hash; may be another's
};

}  // namespace refhist
