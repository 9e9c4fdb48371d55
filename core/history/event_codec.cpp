#include "history/event_codec.h"

#include "base/error.h"

namespace refhist {

namespace {

// The parts of EventOrigin::kind.
constexpr std::uint32_t kRoleMask = 0xff;
constexpr unsigned kSourceShift = 8;
constexpr std::uint32_t kSourceMask = 3;
constexpr std::uint32_t kUnobserved = 1U << 10U;
constexpr std::uint32_t kFailed = 1U << 11U;
constexpr std::uint32_t kDuringDeath = 1U << 12U;
constexpr std::uint32_t kHasBefore = 1U << 13U;
constexpr std::uint32_t kHasAfter = 1U << 14U;
constexpr unsigned kStepShift = 15;  // after - before + 1; kNoStep: `after` is stored
constexpr std::uint32_t kNoStep = 3;

std::uint64_t to_unsigned(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t to_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

std::int64_t step_between(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

std::uint32_t step_of(const Event& event) {
  if (!event.before || !event.after) return kNoStep;
  const std::uint64_t step =
      static_cast<std::uint64_t>(*event.after) - static_cast<std::uint64_t>(*event.before) + 1;
  return step < kNoStep ? static_cast<std::uint32_t>(step) : kNoStep;
}

void expect(bool whole) {
  if (!whole) fail("its events are damaged");
}

}  // namespace

std::uint32_t event_kind(const Event& event) {
  std::uint32_t kind = static_cast<std::uint32_t>(event.role);
  kind |= static_cast<std::uint32_t>(event.after_source) << kSourceShift;
  if (event.unobserved) kind |= kUnobserved;
  if (event.failed) kind |= kFailed;
  if (event.during_death) kind |= kDuringDeath;
  if (event.before) kind |= kHasBefore;
  if (event.after) kind |= kHasAfter;
  return kind | step_of(event) << kStepShift;
}

Event event_of(const EventOrigin& origin) {
  Event event;
  event.site = origin.site;
  event.thread = origin.thread;
  event.stack = origin.stack;
  event.role = static_cast<Role>(origin.kind & kRoleMask);
  event.after_source = static_cast<CountSource>(origin.kind >> kSourceShift & kSourceMask);
  event.unobserved = (origin.kind & kUnobserved) != 0;
  event.failed = (origin.kind & kFailed) != 0;
  event.during_death = (origin.kind & kDuringDeath) != 0;
  return event;
}

bool is_event_kind(std::uint32_t kind) {
  const std::uint32_t step = kind >> kStepShift;
  const bool both = (kind & kHasBefore) != 0 && (kind & kHasAfter) != 0;
  return (kind & kRoleMask) <= static_cast<std::uint32_t>(Role::pool_destroy) && step <= kNoStep &&
         (step == kNoStep || both);
}

void EventWriter::difference(std::int64_t value) { number(to_unsigned(value)); }

void EventWriter::event(const EventEntry& entry, EventPosition& position, bool sparse) {
  const std::uint32_t gap = entry.id.value - position.next;
  number(sparse ? std::uint64_t{entry.origin} << 1U | (gap != 0 ? 1U : 0U) : entry.origin);
  if (gap != 0) number(gap);
  const Event& event = entry.event;
  difference(step_between(event.time_ns, position.time_ns));
  difference(step_between(event.object.value, position.object));
  number(entry.previous.valid() ? entry.id.value - entry.previous.value : 0);
  if (event.before) difference(*event.before);
  if (event.after && step_of(event) == kNoStep) difference(*event.after);
  position = {event.time_ns, event.object.value, entry.id.value + 1};
}

std::int64_t EventReader::difference() { return to_signed(number()); }

EventEntry EventReader::next() {
  EventEntry entry;
  std::uint64_t origin = number();
  if (sparse_) {
    if ((origin & 1U) != 0) position_.next += static_cast<std::uint32_t>(number());
    origin >>= 1U;
  }
  entry.id = EventId(position_.next++);
  entry.origin = static_cast<std::uint32_t>(origin);
  const EventOrigin& from = origins_[entry.origin];
  position_.time_ns += static_cast<std::uint64_t>(difference());
  position_.object += static_cast<std::uint32_t>(difference());
  const auto back = static_cast<std::uint32_t>(number());
  if (back != 0) entry.previous = EventId(entry.id.value - back);
  entry.event = event_of(from);
  entry.event.time_ns = position_.time_ns;
  entry.event.object = ObjectId(position_.object);
  if ((from.kind & kHasBefore) != 0) entry.event.before = difference();
  const std::uint32_t step = from.kind >> kStepShift;
  if (step != kNoStep) {
    entry.event.after = *entry.event.before + static_cast<std::int64_t>(step) - 1;
  } else if ((from.kind & kHasAfter) != 0) {
    entry.event.after = difference();
  }
  return entry;
}

void EventCheck::block(std::size_t offset, const EventBlock& block, std::size_t end) {
  place_ = offset;
  std::uint32_t object = 0;
  std::uint64_t id = block.first.value;
  for (std::size_t i = 0; i < block.count; ++i, ++id) {
    std::uint64_t origin = number();
    if (block.sparse) {
      const std::uint64_t gap = (origin & 1U) != 0 ? number() : 0;
      expect(gap < end);
      id += gap;
      origin >>= 1U;
    }
    expect(id < end && origin < origins_.size());
    number();
    object += static_cast<std::uint32_t>(to_signed(number()));
    expect(object < objects_);
    expect(number() <= id);
    const std::uint32_t kind = origins_[origin].kind;
    if ((kind & kHasBefore) != 0) number();
    if (kind >> kStepShift == kNoStep && (kind & kHasAfter) != 0) number();
  }
}

std::uint64_t EventCheck::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    expect(place_ < bytes_.size());
    const std::uint8_t byte = bytes_[place_++];
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail("its events are damaged");
}

}  // namespace refhist
