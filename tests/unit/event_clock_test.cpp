// The agent's time stamps: early perhaps, but in order.
#include "agent/event_clock.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace agent = refhist::agent;

namespace {

struct Area {
  agent::Shared shared{};
  agent::ThreadSlot slots[4]{};

  std::uint64_t stamp(unsigned slot) {
    agent::EventClock clock(shared, slots[slot], slot + 1);
    std::uint64_t stamp = 0;
    do {
      clock.begin();
      stamp = clock.stamp();
    } while (!clock.holds(stamp));
    return stamp;
  }
  void name(unsigned slot) {
    const std::uint64_t name = ++names_ * agent::kSoleNumbers + slot + 1;
    __atomic_store_n(&shared.sole, name, __ATOMIC_SEQ_CST);
  }
  void name_nobody() { __atomic_store_n(&shared.sole, 0U, __ATOMIC_SEQ_CST); }

 private:
  std::uint64_t names_ = 0;
};

std::uint64_t now() {
  std::uint32_t processor = 0;
  return agent::ordered_time_stamp(processor);
}

/// An event, and numbers that were counted up before and behind it.
struct Event {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t stamp;
};

void record(Area& area, unsigned slot, std::atomic<std::uint64_t>& sequence, std::atomic<bool>& go_on,
            std::vector<Event>& events) {
  std::mt19937 random(slot);
  while (go_on) {
    // Now in a run of one thread alone, now among the others.
    for (unsigned n = random() % 2000; n > 0; --n) {
      const std::uint64_t begin = sequence++;
      const std::uint64_t stamp = area.stamp(slot);
      events.push_back({begin, sequence++, stamp});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
  }
}

/// How many events have a stamp that is not later than those of all that were over before they began.
std::size_t in_wrong_order(std::vector<Event> by_begin) {
  std::vector<Event> by_end = by_begin;
  std::sort(by_begin.begin(), by_begin.end(),
            [](const Event& a, const Event& b) { return a.begin < b.begin; });
  std::sort(by_end.begin(), by_end.end(), [](const Event& a, const Event& b) { return a.end < b.end; });
  std::uint64_t newest = 0;
  std::size_t over = 0;
  std::size_t wrong = 0;
  for (const Event& event : by_begin) {
    for (; over < by_end.size() && by_end[over].end < event.begin; ++over)
      newest = std::max(newest, by_end[over].stamp);
    if (event.stamp <= newest) ++wrong;
  }
  return wrong;
}

// For a signal handler.
Area* interrupted_area = nullptr;
std::atomic<std::uint64_t> interrupted_sequence = 0;
std::vector<Event>* of_handler = nullptr;

void stamp_in_handler(int) {
  if (of_handler->size() + 2 > of_handler->capacity()) return;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t begin = interrupted_sequence++;
    const std::uint64_t stamp = interrupted_area->stamp(0);
    of_handler->push_back({begin, interrupted_sequence++, stamp});
  }
}

}  // namespace

TEST_CASE("event clock: a thread that is named reads the counter once for each name") {
  const auto area = std::make_unique<Area>();
  area->name(0);
  const std::uint64_t before = now();
  const std::uint64_t first = area->stamp(0);
  CHECK(first > before);
  std::uint64_t last = first;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t stamp = area->stamp(0);
    CHECK(stamp > last);
    CHECK(stamp < now());
    last = stamp;
  }
  CHECK(last - first < 1000);  // ticks: nothing was read in between
  const std::uint64_t later = now();
  area->name(0);
  CHECK(area->stamp(0) > later);
}

TEST_CASE("event clock: another thread takes the name away, and both read the counter from then on") {
  const auto area = std::make_unique<Area>();
  area->name(0);
  area->stamp(0);
  const std::uint64_t named = area->stamp(0);
  const std::uint64_t other = area->stamp(1);
  CHECK(other > named);
  CHECK(area->shared.sole == 0);
  CHECK(area->stamp(0) > other);
}

TEST_CASE("event clock: whoever was named in between looks again") {
  const auto area = std::make_unique<Area>();
  agent::EventClock clock(area->shared, area->slots[0], 1);
  clock.begin();
  const std::uint64_t stamp = clock.stamp();
  area->name(1);
  CHECK(!clock.holds(stamp));
  area->name_nobody();
  clock.begin();
  CHECK(clock.holds(clock.stamp()));
}

TEST_CASE("event clock: an event that is over before another begins has the earlier stamp") {
  const auto area = std::make_unique<Area>();
  std::atomic<std::uint64_t> sequence = 0;
  std::atomic<bool> go_on = true;
  std::vector<std::vector<Event>> of_threads(3);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < of_threads.size(); ++i)
    threads.emplace_back([&, i] { record(*area, i, sequence, go_on, of_threads[i]); });
  std::mt19937 random(1);
  for (int look = 0; look < 4000; ++look) {  // whom the debugger names may be out of date
    if (random() % 4 == 0) {
      area->name_nobody();
    } else {
      area->name(random() % 3);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  go_on = false;
  for (std::thread& thread : threads) thread.join();

  std::vector<Event> all;
  for (const auto& events : of_threads) all.insert(all.end(), events.begin(), events.end());
  REQUIRE(all.size() > 1000);
  CHECK(in_wrong_order(std::move(all)) == 0);
}

TEST_CASE("event clock: a signal handler takes stamps in the middle of another one") {
  const auto area = std::make_unique<Area>();
  std::vector<Event> handled;
  handled.reserve(100000);
  interrupted_area = area.get();
  of_handler = &handled;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = stamp_in_handler;
  sigaction(SIGALRM, &action, &before);
  const itimerval often{{0, 30}, {0, 30}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  std::vector<Event> events;
  events.reserve(3000000);
  while (events.size() < 3000000) {
    if (events.size() % 5000 == 0) area->name(0);
    const std::uint64_t begin = interrupted_sequence++;
    const std::uint64_t stamp = area->stamp(0);
    events.push_back({begin, interrupted_sequence++, stamp});
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  CHECK(handled.size() > 10);
  events.insert(events.end(), handled.begin(), handled.end());
  CHECK(in_wrong_order(std::move(events)) == 0);
}
