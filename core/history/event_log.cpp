#include "history/event_log.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

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
    origin_ = static_cast<std::uint32_t>(number());
    const Origin& origin = log_.origins_[origin_];
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

  /// Of the entry that was read last.
  [[nodiscard]] std::uint32_t origin() const { return origin_; }

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
  std::uint32_t origin_ = kNoOrigin;
  Position at_;
};

// Whether the bytes of a page that came from a file are what a Writer can have written, so that a Reader may
// trust them.
class EventLog::Check {
 public:
  Check(const EventLog& log, std::span<const std::uint8_t> bytes) : log_(log), bytes_(bytes) {}

  /// `count` events from `id` on, at `place`.
  void block(std::size_t place, std::size_t id, std::size_t count) {
    place_ = place;
    std::uint32_t object = 0;
    for (std::size_t i = id; i < id + count; ++i) {
      const std::uint64_t origin = number();
      expect(origin < log_.origins_.size());
      number();
      object += static_cast<std::uint32_t>(to_signed(number()));
      expect(object < log_.stored_->objects);
      expect(number() <= i);
      const std::uint32_t kind = log_.origins_[origin].kind;
      if ((kind & kHasBefore) != 0) number();
      if (kind >> kStepShift == kNoStep && (kind & kHasAfter) != 0) number();
    }
  }

 private:
  static void expect(bool whole) {
    if (!whole) fail("its events are damaged");
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      expect(place_ < bytes_.size());
      const std::uint8_t byte = bytes_[place_++];
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    fail("its events are damaged");
  }

  const EventLog& log_;
  std::span<const std::uint8_t> bytes_;
  std::size_t place_ = 0;
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
    if (!pages_.empty()) ends_.push_back(static_cast<std::uint32_t>(used_));
    pages_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(kPage));
    used_ = 0;
  }
  blocks_.push_back((pages_.size() - 1) * kPage + used_);
  last_ = Position{};
}

const std::uint8_t* EventLog::block(std::size_t number) const {
  const std::uint64_t place = blocks_[number];
  return bytes_of(place / kPage) + place % kPage;
}

const std::uint8_t* EventLog::bytes_of(std::size_t page) const {
  if (pages_[page] == nullptr) load(page);
  return pages_[page].get();
}

std::pair<std::size_t, std::size_t> EventLog::blocks_of(std::size_t page) const {
  const auto first = std::lower_bound(blocks_.begin(), blocks_.end(), page * kPage);
  const auto behind = std::lower_bound(first, blocks_.end(), (page + 1) * kPage);
  return {first - blocks_.begin(), behind - blocks_.begin()};
}

EventLog::Page EventLog::page(std::size_t number) const {
  const std::uint8_t* bytes = bytes_of(number);
  Page page{{bytes, number < ends_.size() ? ends_[number] : used_}, {}};
  const auto [first, behind] = blocks_of(number);
  for (std::size_t i = first; i < behind; ++i)
    page.blocks.push_back(static_cast<std::uint16_t>(blocks_[i] % kPage));
  return page;
}

EventLog EventLog::open(Stored stored) {
  EventLog log;
  for (const std::vector<std::uint16_t>& blocks : stored.blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i != 0 && blocks[i] <= blocks[i - 1]) fail("its events are damaged");
      log.blocks_.push_back(log.pages_.size() * kPage + blocks[i]);
    }
    log.pages_.emplace_back();
  }
  if (log.blocks_.size() != (stored.events + kBlock - 1) / kBlock) fail("its events are not complete");
  for (const Origin& origin : stored.origins) {
    const std::uint32_t step = origin.kind >> kStepShift;
    const bool both = (origin.kind & kHasBefore) != 0 && (origin.kind & kHasAfter) != 0;
    if ((origin.kind & kRoleMask) > static_cast<std::uint32_t>(Role::pool_destroy) || step > kNoStep ||
        (step != kNoStep && !both))
      fail("its events are damaged");
  }
  log.ends_.resize(log.pages_.size());
  log.size_ = stored.events;
  log.origins_ = stored.origins;
  log.stored_ = std::make_shared<const Stored>(std::move(stored));
  return log;
}

void EventLog::load(std::size_t page) const {
  const std::vector<std::uint8_t> bytes = stored_->read(page);
  if (bytes.size() > kPage) fail("its events are damaged");
  Check check(*this, bytes);
  const auto [first, behind] = blocks_of(page);
  for (std::size_t i = first; i < behind; ++i)
    check.block(blocks_[i] % kPage, i * kBlock, std::min(kBlock, size_ - i * kBlock));
  auto copy = std::make_unique_for_overwrite<std::uint8_t[]>(kPage);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  pages_[page] = std::move(copy);
  ends_[page] = static_cast<std::uint32_t>(bytes.size());
}

EventId EventLog::append(const Event& event, EventId previous) {
  if (size_ % kBlock == 0) begin_block();
  const std::uint32_t kind = kind_of(event);
  std::uint8_t* const begin = pages_.back().get() + used_;
  Writer writer(begin);
  last_origin_ = intern(Origin{event.site, event.thread, event.stack, kind});
  writer.number(last_origin_);
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
  std::uint32_t origin = kNoOrigin;
  return at(id, origin);
}

std::uint32_t EventLog::origin_of(EventId id) const {
  std::uint32_t origin = last_origin_;
  if (id.index() + 1 != size_ || stored_) at(id, origin);
  return origin;
}

EventLog::Entry EventLog::at(EventId id, std::uint32_t& origin) const {
  const std::size_t first = id.index() / kBlock * kBlock;
  Reader reader(*this, block(id.index() / kBlock));
  for (std::size_t i = first; i < id.index(); ++i) reader.next(i);
  const Entry entry = reader.next(id.index());
  origin = reader.origin();
  return entry;
}

std::size_t EventLog::bytes() const {
  // A hash table entry costs its value, a next pointer and, on average, one bucket pointer.
  const auto loaded =
      std::count_if(pages_.begin(), pages_.end(), [](const auto& page) { return page != nullptr; });
  return static_cast<std::size_t>(loaded) * kPage + blocks_.capacity() * sizeof(std::uint64_t) +
         origins_.capacity() * sizeof(Origin) +
         origin_ids_.size() * (sizeof(Origin) + sizeof(std::uint32_t) + 2 * sizeof(void*));
}

}  // namespace refhist
