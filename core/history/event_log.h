// All events in order, about ten bytes each.
//
// What events have in common is stored once: site, thread, stack, role and the step of the count make an
// origin, of which there are as many as there are ways to a probe. An event is then a few small numbers: its
// origin, and the differences of time, object and position to events before it. Every kBlock events the
// differences begin anew, so that any event is read in the same short time.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "history/event.h"

namespace refhist {

class EventLog {
 public:
  /// `previous`: the event of the same object before this one; invalid when this is its first.
  EventId append(const Event& event, EventId previous);

  struct Entry {
    Event event;
    EventId previous;  ///< of the same object
  };
  /// Reads up to kBlock entries to get there.
  [[nodiscard]] Entry at(EventId id) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const;

  static constexpr std::size_t kBlock = 32;        ///< events; the last block may have fewer
  static constexpr std::size_t kPage = 1U << 16U;  ///< bytes; a block lies in one page

  struct Origin {
    SiteId site;
    ThreadIndex thread;
    StackId stack;
    std::uint32_t kind = 0;  ///< role, flags, step of the count: see docs/file-format.md
    bool operator==(const Origin&) const = default;
  };
  static constexpr std::uint32_t kNoOrigin = 0xffffffffU;
  /// The index of the event's origin.
  [[nodiscard]] std::uint32_t origin_of(EventId id) const;
  /// How the events lie in memory, and in a file.
  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  [[nodiscard]] std::size_t pages() const { return pages_.size(); }
  struct Page {
    std::span<const std::uint8_t> bytes;
    std::vector<std::uint16_t> blocks;  ///< where each of its blocks begins
  };
  [[nodiscard]] Page page(std::size_t number) const;

  /// The events of a file. Pages are asked for when they are needed, and checked then.
  struct Stored {
    std::size_t events = 0;
    std::size_t objects = 0;
    std::vector<Origin> origins;
    std::vector<std::vector<std::uint16_t>> blocks;  ///< by page
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
  struct Position {
    std::uint64_t time_ns = 0;
    std::uint32_t object = 0;
  };
  class Writer;
  class Reader;
  class Check;

  Entry at(EventId id, std::uint32_t& origin) const;
  std::uint32_t intern(const Origin& origin);
  [[nodiscard]] const std::uint8_t* block(std::size_t number) const;
  void begin_block();
  /// Of a page: its first block, and the first one behind it.
  [[nodiscard]] std::pair<std::size_t, std::size_t> blocks_of(std::size_t page) const;
  [[nodiscard]] const std::uint8_t* bytes_of(std::size_t page) const;
  void load(std::size_t page) const;

  mutable std::vector<std::unique_ptr<std::uint8_t[]>> pages_;  // of a file: null until it is asked for
  mutable std::vector<std::uint32_t> ends_;                     // bytes used of each page but the last
  std::shared_ptr<const Stored> stored_;                        // null: these events were recorded here
  std::size_t used_ = kPage;                                    // bytes of the last page
  std::vector<std::uint64_t> blocks_;                           // where each begins: page * kPage + offset
  Position last_;
  std::uint32_t last_origin_ = kNoOrigin;  // of the event that was appended last
  std::size_t size_ = 0;
  std::vector<Origin> origins_;
  std::unordered_map<Origin, std::uint32_t, OriginHash> origin_ids_;
  std::array<std::uint32_t, kRecentOrigins> recent_{};  // by hash; may be another's
};

}  // namespace refhist
