// How events lie in memory and in a file: rows of numbers of seven bits a byte. docs/file-format.md has the
// whole of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "history/event.h"

namespace refhist {

/// The parts of EventOrigin::kind.
struct EventKind {
  static constexpr std::uint32_t kRoleMask = 0xff;
  static constexpr unsigned kSourceShift = 8;
  static constexpr std::uint32_t kSourceMask = 3;
  static constexpr std::uint32_t kUnobserved = 1U << 10U;
  static constexpr std::uint32_t kFailed = 1U << 11U;
  static constexpr std::uint32_t kDuringDeath = 1U << 12U;
  static constexpr std::uint32_t kHasBefore = 1U << 13U;
  static constexpr std::uint32_t kHasAfter = 1U << 14U;
  static constexpr unsigned kStepShift = 15;  ///< after - before + 1; kNoStep: `after` is stored
  static constexpr std::uint32_t kNoStep = 3;

  static bool has_before(std::uint32_t kind) { return (kind & kHasBefore) != 0; }
  static bool has_after(std::uint32_t kind) { return (kind & kHasAfter) != 0; }
  static bool has_step(std::uint32_t kind) { return kind >> kStepShift != kNoStep; }
};

/// A number whose lowest bit is its sign.
inline std::int64_t signed_of(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

inline std::uint64_t unsigned_of(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}

/// Of an event: what EventKind::kStepShift tells.
inline std::uint32_t step_of(const Event& event) {
  if (!event.before || !event.after) return EventKind::kNoStep;
  const std::uint64_t step =
      static_cast<std::uint64_t>(*event.after) - static_cast<std::uint64_t>(*event.before) + 1;
  return step < EventKind::kNoStep ? static_cast<std::uint32_t>(step) : EventKind::kNoStep;
}

/// Of an event: what its origin tells of it.
std::uint32_t event_kind(const Event& event);
/// The event, without what is not of its origin: time, object and counts.
Event event_of(const EventOrigin& origin);
bool is_event_kind(std::uint32_t kind);

/// Where an event stands.
struct EventLinks {
  EventId id;
  EventId previous;  ///< of the same object; invalid: this is its first
  std::uint32_t origin = kNoOrigin;
};

struct EventEntry : EventLinks {
  Event event;
};

/// A block of events: where it is, and what the numbers in it refer to.
struct EventBlock {
  const std::uint8_t* place = nullptr;
  EventId first;
  std::size_t count = 0;
  bool sparse = false;  ///< events between those in it have been folded
};

/// What the numbers of an event in a block refer to: the event before it.
struct EventPosition {
  std::uint64_t time_ns = 0;
  std::uint32_t object = 0;
  std::uint32_t next = 0;  ///< the id that the next event has if none is missing between
};

class EventWriter {
 public:
  explicit EventWriter(std::uint8_t* place) : place_(place) {}
  void event(const EventLinks& links, const Event& event, EventPosition& position, bool sparse) {
    const std::uint32_t gap = links.id.value - position.next;
    number(sparse ? std::uint64_t{links.origin} << 1U | (gap != 0 ? 1U : 0U) : links.origin);
    if (gap != 0) number(gap);
    difference(static_cast<std::int64_t>(event.time_ns - position.time_ns));
    difference(std::int64_t{event.object.value} - position.object);
    number(links.previous.valid() ? links.id.value - links.previous.value : 0);
    if (event.before) difference(*event.before);
    if (event.after && step_of(event) == EventKind::kNoStep) difference(*event.after);
    position = {event.time_ns, event.object.value, links.id.value + 1};
  }
  [[nodiscard]] const std::uint8_t* place() const { return place_; }

 private:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) *place_++ = static_cast<std::uint8_t>(value | 0x80U);
    *place_++ = static_cast<std::uint8_t>(value);
  }
  void difference(std::int64_t value) { number(unsigned_of(value)); }

  std::uint8_t* place_;
};

/// Reads the events of a block in order: of each first its id, then the rest, or past it.
class EventReader {
 public:
  EventReader(const std::vector<EventOrigin>& origins, const EventBlock& block)
      : origins_(origins), place_(block.place), position_{0, 0, block.first.value}, sparse_(block.sparse) {}

  EventId next_id() {
    const std::uint64_t origin = number();
    if (sparse_ && (origin & 1U) != 0) position_.next += static_cast<std::uint32_t>(number());
    origin_ = static_cast<std::uint32_t>(sparse_ ? origin >> 1U : origin);
    return EventId(position_.next++);
  }
  void pass() {
    position_.time_ns += static_cast<std::uint64_t>(difference());
    position_.object += static_cast<std::uint32_t>(difference());
    pass_number();
    const std::uint32_t kind = origins_[origin_].kind;
    if (EventKind::has_before(kind)) pass_number();
    if (!EventKind::has_step(kind) && EventKind::has_after(kind)) pass_number();
  }
  EventEntry rest();
  EventEntry next() {
    next_id();
    return rest();
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (; *place_ >= 0x80; shift += 7) value |= std::uint64_t{*place_++ & 0x7fU} << shift;
    return value | std::uint64_t{*place_++} << shift;
  }
  std::int64_t difference() { return signed_of(number()); }
  void pass_number() {
    while (*place_++ >= 0x80) continue;
  }

  const std::vector<EventOrigin>& origins_;
  const std::uint8_t* place_;
  EventPosition position_;
  std::uint32_t origin_ = kNoOrigin;
  bool sparse_;
};

/// Whether the bytes of a page that came from a file are what an EventWriter can have written, so that an
/// EventReader may trust them. Throws Error when they are not.
class EventCheck {
 public:
  EventCheck(const std::vector<EventOrigin>& origins, std::size_t objects,
             std::span<const std::uint8_t> bytes)
      : origins_(origins), objects_(objects), bytes_(bytes) {}
  /// `offset` of the block in the page; `end`: the id behind the last that it may have.
  void block(std::size_t offset, const EventBlock& block, std::size_t end);

 private:
  std::uint64_t number();

  const std::vector<EventOrigin>& origins_;
  std::size_t objects_;
  std::span<const std::uint8_t> bytes_;
  std::size_t place_ = 0;
};

}  // namespace refhist
