#include "history/event_log.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"

namespace refhist {
namespace {

Event random_event(std::mt19937_64& random, std::uint64_t time_ns) {
  const auto below = [&](std::uint64_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const auto count = [&]() -> Count {
    switch (below(4)) {
      case 0:
        return std::nullopt;
      case 1:
        return static_cast<std::int64_t>(random());
      default:
        return std::int64_t{below(5)} - 1;
    }
  };
  Event event;
  event.time_ns = time_ns + below(3) * random() % 1'000'000;  // an allocation is told after what came later
  event.object = ObjectId(below(300));
  if (below(8) != 0) event.site = SiteId(below(40));
  event.thread = ThreadIndex(below(3));
  if (below(5) != 0) event.stack = StackId(below(2000));
  event.role = static_cast<Role>(below(5));
  event.after_source = static_cast<CountSource>(below(3));
  event.unobserved = below(10) == 0;
  event.failed = below(10) == 0;
  event.during_death = below(10) == 0;
  event.before = count();
  event.after = below(3) == 0 || !event.before ? count() : Count(*event.before + below(3) - 1);
  return event;
}

}  // namespace

TEST_CASE("events come out of the log as they went in, in any order") {
  std::mt19937_64 random(20261121);
  EventLog log;
  std::vector<Event> events;
  std::vector<EventId> previous;
  std::map<ObjectId, EventId> last;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const Event event = random_event(random, i * 300);
    previous.push_back(last[event.object]);
    events.push_back(event);
    last[event.object] = log.append(event, previous.back());
    REQUIRE(last[event.object].index() == i);
  }
  REQUIRE(log.size() == events.size());
  for (std::size_t n = 0; n < 2 * events.size(); ++n) {
    const std::size_t i = n < events.size() ? n : random() % events.size();
    const EventLog::Entry entry = log.at(EventId(i));
    REQUIRE(entry.event == events[i]);
    REQUIRE(entry.previous == previous[i]);
  }
}

TEST_CASE("events that are left out leave the others as they were") {
  std::mt19937_64 random(8);
  EventLog log;
  std::map<EventId, Event> events;
  std::map<EventId, EventId> previous;
  std::map<ObjectId, EventId> last;
  std::uint64_t time = 0;
  for (int round = 0; round < 12; ++round) {
    const std::size_t more = random() % 3000;
    for (std::size_t i = 0; i < more; ++i) {
      const Event event = random_event(random, time += 300);
      const EventId id = log.append(event, last[event.object]);
      previous[id] = std::exchange(last[event.object], id);
      events[id] = event;
    }
    const std::uint64_t left_out = random() % 4;  // of four
    log.retain([&](EventLog::Entry& entry) {
      const auto found = events.find(entry.id);
      REQUIRE(found != events.end());
      REQUIRE(found->second == entry.event);
      if (random() % 4 >= left_out) return true;
      events.erase(found);
      return false;
    });
    REQUIRE(log.kept() == events.size());
    auto expected = events.begin();
    log.for_each(EventId(0U), [&](const EventLog::Entry& entry) {
      REQUIRE(expected != events.end());
      REQUIRE(entry.id == expected->first);
      REQUIRE(entry.event == expected->second);
      REQUIRE(entry.previous == previous[entry.id]);
      ++expected;
    });
    CHECK(expected == events.end());
    for (std::uint32_t i = 0; i < log.size(); ++i) {
      REQUIRE(log.contains(EventId(i)) == events.contains(EventId(i)));
      if (events.contains(EventId(i))) REQUIRE(log.at(EventId(i)).event == events[EventId(i)]);
    }
    EventLog::Reader reader(log);
    for (std::uint32_t n = 0; n < 2 * log.size(); ++n) {  // backward, then anywhere
      const EventId id(n < log.size() ? static_cast<std::uint32_t>(log.size()) - 1 - n
                                      : static_cast<std::uint32_t>(random() % log.size()));
      if (!events.contains(id)) {
        if (n % 16 == 0) CHECK_THROWS_AS((void)reader.at(id), Error);
        continue;
      }
      const EventLog::Entry& entry = reader.at(id);
      REQUIRE(entry.id == id);
      REQUIRE(entry.event == events[id]);
      REQUIRE(entry.previous == previous[id]);
    }
    if (log.size() != 0 && !log.contains(EventId(0U))) CHECK_THROWS_AS((void)log.at(EventId(0U)), Error);
  }
  CHECK(log.size() > 5000);
}

TEST_CASE("an ordinary event takes a dozen bytes") {
  EventLog log;
  std::map<std::uint32_t, EventId> last;
  constexpr std::uint32_t kEvents = 1'000'000;
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    Event event;
    event.time_ns = std::uint64_t{i} * 110;
    event.object = ObjectId(i * 7919U % 5000U);
    event.site = SiteId(i % 2);
    event.thread = ThreadIndex(0U);
    event.stack = StackId(i * 31U % 3000U);
    event.role = i % 2 == 0 ? Role::get : Role::put;
    event.before = 1 + i % 3;
    event.after = *event.before + (i % 2 == 0 ? 1 : -1);
    EventId& before = last[event.object.value];
    before = log.append(event, before);
  }
  CHECK(log.bytes() < 13 * std::size_t{kEvents});
}

}  // namespace refhist
