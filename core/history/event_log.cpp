#include "history/event_log.h"

namespace refhist {

namespace {

// The parts of Origin::kind.
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

std::int64_t difference(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

std::uint32_t step_of(const Event& event) {
  if (!event.before || !event.after) return kNoStep;
  const std::uint64_t step =
      static_cast<std::uint64_t>(*event.after) - static_cast<std::uint64_t>(*event.before) + 1;
  return step < kNoStep ? static_cast<std::uint32_t>(step) : kNoStep;
}

std::uint32_t kind_of(const Event& event) {
  std::uint32_t kind = static_cast<std::uint32_t>(event.role);
  kind |= static_cast<std::uint32_t>(event.after_source) << kSourceShift;
  if (event.unobserved) kind |= kUnobserved;
  if (event.failed) kind |= kFailed;
  if (event.during_death) kind |= kDuringDeath;
  if (event.before) kind |= kHasBefore;
  if (event.after) kind |= kHasAfter;
  return kind | step_of(event) << kStepShift;
}

}  // namespace

// Numbers of seven bits a byte, the lowest first.
class EventLog::Writer {
 public:
  explicit Writer(std::uint8_t* place) : place_(place) {}
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) *place_++ = static_cast<std::uint8_t>(value | 0x80U);
    *place_++ = static_cast<std::uint8_t>(value);
  }
  void difference(std::int64_t value) { number(to_unsigned(value)); }
  [[nodiscard]] const std::uint8_t* place() const { return place_; }

 private:
  std::uint8_t* place_;
};

class EventLog::Reader {
 public:
  Reader(const EventLog& log, const std::uint8_t* place) : log_(log), place_(place) {}

  /// `id`: of the event that stands here.
  Entry next(std::size_t id) {
    const Origin& origin = log_.origins_[number()];
    at_.time_ns += static_cast<std::uint64_t>(to_signed(number()));
    at_.object += static_cast<std::uint32_t>(to_signed(number()));
    const std::uint64_t back = number();
    Entry entry{event(origin), back == 0 ? EventId() : EventId(id - back)};
    if ((origin.kind & kHasBefore) != 0) entry.event.before = to_signed(number());
    const std::uint32_t step = origin.kind >> kStepShift;
    if (step != kNoStep) {
      entry.event.after = *entry.event.before + static_cast<std::int64_t>(step) - 1;
    } else if ((origin.kind & kHasAfter) != 0) {
      entry.event.after = to_signed(number());
    }
    return entry;
  }

 private:
  [[nodiscard]] Event event(const Origin& origin) const {
    Event event;
    event.time_ns = at_.time_ns;
    event.object = ObjectId(at_.object);
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
  std::uint64_t number() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (; *place_ >= 0x80; shift += 7) value |= std::uint64_t{*place_++ & 0x7fU} << shift;
    return value | std::uint64_t{*place_++} << shift;
  }

  const EventLog& log_;
  const std::uint8_t* place_;
  Position at_;
};

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

void EventLog::begin_block() {
  if (used_ + kBlock * kLongestEvent > kPage) {
    pages_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(kPage));
    used_ = 0;
  }
  blocks_.push_back((pages_.size() - 1) * kPage + used_);
  last_ = Position{};
}

const std::uint8_t* EventLog::block(std::size_t number) const {
  const std::uint64_t place = blocks_[number];
  return pages_[place / kPage].get() + place % kPage;
}

EventId EventLog::append(const Event& event, EventId previous) {
  if (size_ % kBlock == 0) begin_block();
  const std::uint32_t kind = kind_of(event);
  std::uint8_t* const begin = pages_.back().get() + used_;
  Writer writer(begin);
  writer.number(intern(Origin{event.site, event.thread, event.stack, kind}));
  writer.difference(difference(event.time_ns, last_.time_ns));
  writer.difference(difference(event.object.value, last_.object));
  writer.number(previous.valid() ? size_ - previous.index() : 0);
  if (event.before) writer.difference(*event.before);
  if (event.after && kind >> kStepShift == kNoStep) writer.difference(*event.after);
  used_ += static_cast<std::size_t>(writer.place() - begin);
  last_ = Position{event.time_ns, event.object.value};
  return EventId(size_++);
}

EventLog::Entry EventLog::at(EventId id) const {
  const std::size_t first = id.index() / kBlock * kBlock;
  Reader reader(*this, block(id.index() / kBlock));
  for (std::size_t i = first; i < id.index(); ++i) reader.next(i);
  return reader.next(id.index());
}

std::size_t EventLog::bytes() const {
  // A hash table entry costs its value, a next pointer and, on average, one bucket pointer.
  return pages_.size() * kPage + blocks_.capacity() * sizeof(std::uint64_t) +
         origins_.capacity() * sizeof(Origin) +
         origin_ids_.size() * (sizeof(Origin) + sizeof(std::uint32_t) + 2 * sizeof(void*));
}

}  // namespace refhist
