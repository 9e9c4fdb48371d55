// All events in order, about ten bytes each.
//
// What events have in common is stored once: site, thread, stack, role and the step of the count make an
// origin, of which there are as many as there are ways to a probe. An event is then a few small numbers: its
// origin, and the differences of time, object and position to events before it. Every kBlock events the
// differences begin anew, so that any event is read in the same short time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
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

 private:
  static constexpr std::size_t kBlock = 32;           // events
  static constexpr std::size_t kPage = 1U << 16U;     // bytes; a block lies in one page
  static constexpr std::size_t kLongestEvent = 64;    // bytes
  static constexpr std::size_t kRecentOrigins = 512;  // a power of two

  struct Origin {
    SiteId site;
    ThreadIndex thread;
    StackId stack;
    std::uint32_t kind = 0;  // role, flags, step of the count
    bool operator==(const Origin&) const = default;
  };
  struct OriginHash {
    std::size_t operator()(const Origin& origin) const noexcept;
  };
  struct Position {
    std::uint64_t time_ns = 0;
    std::uint32_t object = 0;
  };
  class Writer;
  class Reader;

  std::uint32_t intern(const Origin& origin);
  [[nodiscard]] const std::uint8_t* block(std::size_t number) const;
  void begin_block();

  std::vector<std::unique_ptr<std::uint8_t[]>> pages_;
  std::size_t used_ = kPage;           // bytes of the last page
  std::vector<std::uint64_t> blocks_;  // where each begins: page * kPage + offset
  Position last_;
  std::size_t size_ = 0;
  std::vector<Origin> origins_;
  std::unordered_map<Origin, std::uint32_t, OriginHash> origin_ids_;
  std::array<std::uint32_t, kRecentOrigins> recent_{};  // by hash; may be another's
};

}  // namespace refhist
