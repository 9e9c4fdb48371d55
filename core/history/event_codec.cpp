#include "history/event_codec.h"

#include "base/error.h"

namespace refhist {

namespace {

void expect(bool whole) {
  if (!whole) fail("its events are damaged");
}

}  // namespace

std::uint32_t event_kind(const Event& event) {
  std::uint32_t kind = static_cast<std::uint32_t>(event.role);
  kind |= static_cast<std::uint32_t>(event.after_source) << EventKind::kSourceShift;
  if (event.unobserved) kind |= EventKind::kUnobserved;
  if (event.failed) kind |= EventKind::kFailed;
  if (event.during_death) kind |= EventKind::kDuringDeath;
  if (event.before) kind |= EventKind::kHasBefore;
  if (event.after) kind |= EventKind::kHasAfter;
  return kind | step_of(event) << EventKind::kStepShift;
}

Event event_of(const EventOrigin& origin) {
  Event event;
  event.site = origin.site;
  event.thread = origin.thread;
  event.stack = origin.stack;
  event.role = static_cast<Role>(origin.kind & EventKind::kRoleMask);
  event.after_source =
      static_cast<CountSource>(origin.kind >> EventKind::kSourceShift & EventKind::kSourceMask);
  event.unobserved = (origin.kind & EventKind::kUnobserved) != 0;
  event.failed = (origin.kind & EventKind::kFailed) != 0;
  event.during_death = (origin.kind & EventKind::kDuringDeath) != 0;
  return event;
}

bool is_event_kind(std::uint32_t kind) {
  const std::uint32_t step = kind >> EventKind::kStepShift;
  const bool both = (kind & EventKind::kHasBefore) != 0 && (kind & EventKind::kHasAfter) != 0;
  return (kind & EventKind::kRoleMask) <= static_cast<std::uint32_t>(Role::use) &&
         step <= EventKind::kNoStep && (step == EventKind::kNoStep || both);
}

EventEntry EventReader::rest() {
  EventEntry entry;
  entry.id = EventId(position_.next - 1);
  entry.origin = origin_;
  const EventOrigin& from = origins_[origin_];
  position_.time_ns += static_cast<std::uint64_t>(difference());
  position_.object += static_cast<std::uint32_t>(difference());
  const auto back = static_cast<std::uint32_t>(number());
  if (back != 0) entry.previous = EventId(entry.id.value - back);
  entry.event = event_of(from);
  entry.event.time_ns = position_.time_ns;
  entry.event.object = ObjectId(position_.object);
  if (EventKind::has_before(from.kind)) entry.event.before = difference();
  if (EventKind::has_step(from.kind)) {
    const std::uint32_t step = from.kind >> EventKind::kStepShift;
    entry.event.after = *entry.event.before + static_cast<std::int64_t>(step) - 1;
  } else if (EventKind::has_after(from.kind)) {
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
    object += static_cast<std::uint32_t>(signed_of(number()));
    expect(object < objects_);
    expect(number() <= id);
    const std::uint32_t kind = origins_[origin].kind;
    if ((kind & EventKind::kHasBefore) != 0) number();
    if (kind >> EventKind::kStepShift == EventKind::kNoStep && (kind & EventKind::kHasAfter) != 0) number();
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
