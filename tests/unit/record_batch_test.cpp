// The records of the program's threads come into the order of time, whole, and are cut at a moment.
#include "agent_host/record_batch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>

using refhist::RecordBatch;
using refhist::RecordOrder;
namespace agent = refhist::agent;

namespace {

agent::Record record(std::uint64_t time, std::uint8_t flags = 0) {
  agent::Record made{};
  made.time = time;
  made.flags = flags;
  return made;
}

RecordBatch batch(long tid, std::initializer_list<std::uint64_t> times) {
  RecordBatch made;
  made.tid = tid;
  for (const std::uint64_t time : times) made.add(record(time));
  return made;
}

std::vector<std::uint64_t> times_of(const RecordBatch& batch) {
  std::vector<std::uint64_t> times;
  for (std::size_t i = 0; i < batch.size(); ++i) times.push_back(batch.time(i));
  return times;
}

using Seen = std::vector<std::pair<long, std::uint64_t>>;

Seen in_order(const std::vector<RecordBatch>& batches) {
  Seen seen;
  RecordOrder(batches).for_each(
      [&](const RecordBatch& of, const agent::Record& each) { seen.emplace_back(of.tid, each.time); });
  return seen;
}

}  // namespace

TEST_CASE("record order: nothing, one thread, empty batches") {
  CHECK(in_order({}).empty());
  CHECK(in_order({batch(1, {}), batch(2, {})}).empty());
  CHECK(in_order({batch(1, {1, 2}), batch(1, {}), batch(1, {3})}) == Seen{{1, 1}, {1, 2}, {1, 3}});
}

TEST_CASE("record order: threads that take turns") {
  const Seen expected{{1, 1}, {2, 2}, {2, 3}, {1, 4}, {3, 5}, {1, 6}, {2, 7}};
  CHECK(in_order({batch(1, {1, 4}), batch(2, {2, 3}), batch(1, {6}), batch(3, {5}), batch(2, {7})}) ==
        expected);
}

TEST_CASE("record order: it tells of each thread's last record once") {
  std::vector<std::string> seen;
  const std::vector<RecordBatch> batches{batch(1, {1, 5, 3, 4, 6}), batch(2, {2}), batch(1, {2, 7}),
                                         batch(3, {})};
  RecordOrder(batches).for_each(
      [&](const RecordBatch& of, const agent::Record& each) {
        seen.push_back(std::to_string(of.tid) + "@" + std::to_string(each.time));
      },
      [&](long tid) { seen.push_back(std::to_string(tid) + " ends"); });
  REQUIRE(seen.size() == 10);
  CHECK(seen.back() == "1 ends");
  CHECK(std::count(seen.begin(), seen.end(), "1 ends") == 1);
  CHECK(std::count(seen.begin(), seen.end(), "3 ends") == 0);
  const auto end = std::find(seen.begin(), seen.end(), "2 ends");
  REQUIRE(end != seen.begin());
  CHECK(*(end - 1) == "2@2");
}

TEST_CASE("record order: a signal handler's record stands behind the one that it interrupted") {
  CHECK(in_order({batch(1, {1, 5, 3, 4, 6}), batch(1, {2, 7})}) ==
        Seen{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}});
}

TEST_CASE("record order: the same as sorting, whatever the threads do") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<RecordBatch> batches;
    std::vector<std::uint64_t> all;
    std::vector<std::uint64_t> clock(1 + random() % 5, 0);
    for (unsigned i = 0, count = random() % 12; i < count; ++i) {
      const std::size_t thread = random() % clock.size();
      RecordBatch& made = batches.emplace_back();
      made.tid = static_cast<long>(thread);
      for (unsigned n = random() % 20; n > 0; --n) {
        std::uint64_t& now = clock[thread];
        now += 1 + random() % 9;
        const std::uint64_t back = random() % 8 == 0 ? random() % 5 : 0;
        made.add(record(now > back ? now - back : now));
        all.push_back(made.time(made.size() - 1));
      }
    }
    std::sort(all.begin(), all.end());
    std::vector<std::uint64_t> seen;
    for (const auto& [tid, time] : in_order(batches)) seen.push_back(time);
    CHECK(seen == all);
  }
}

TEST_CASE("record batch: a record comes back as it was put in, but for its lap") {
  std::mt19937_64 random(3);
  RecordBatch whole;
  std::vector<agent::Record> all;
  for (unsigned i = 0; i < 5000; ++i) {
    agent::Record made{};
    made.time = i;
    made.object = random();
    // Few calls, as in a loop, and now and then one like none before.
    made.site = static_cast<std::uint32_t>(random() % 3);
    made.stack = static_cast<std::uint32_t>(random() % 9);
    const bool rare = random() % 16 == 0;
    made.count = rare ? random() : random() % 5;
    made.sp = rare ? random() : 0x7ffff000 + made.stack;
    made.return_pc = 0x555500 + made.site;
    made.extra = rare ? random() : 0;
    made.kind = random() % 2 == 0 ? agent::RecordKind::entry : agent::RecordKind::returned;
    made.flags = static_cast<std::uint8_t>(random() % 4);
    made.depth = static_cast<std::uint16_t>(random() % 80);
    all.push_back(made);
    whole.add(made);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const agent::Record back = whole.record(i);
    const bool same = back.time == all[i].time && back.object == all[i].object &&
                      back.count == all[i].count && back.sp == all[i].sp &&
                      back.return_pc == all[i].return_pc && back.extra == all[i].extra &&
                      back.site == all[i].site && back.stack == all[i].stack && back.kind == all[i].kind &&
                      back.flags == all[i].flags && back.depth == all[i].depth;
    CHECK_MESSAGE(same, "record ", i);
  }
  RecordBatch later;
  later.use(whole.take_memory(), 10);
  CHECK(later.empty());
  later.add(all.front());
  CHECK(later.record(0).object == all.front().object);
}

TEST_CASE("record batch: cut at a moment") {
  RecordBatch whole = batch(4, {1, 2, 5, 9});
  whole.add(record(9, agent::kCandidate));
  whole.thread_name = "worker";
  RecordBatch later;
  whole.cut(5, later);
  CHECK(times_of(whole) == std::vector<std::uint64_t>{1, 2});
  CHECK(times_of(later) == std::vector<std::uint64_t>{5, 9, 9});
  CHECK(whole.newest == 2);
  CHECK(whole.asks_at == ~std::uint64_t{0});
  CHECK(later.newest == 9);
  CHECK(later.asks_at == 9);
  CHECK(later.tid == 4);
  CHECK(later.thread_name == "worker");
  RecordBatch none;
  whole.cut(3, none);
  CHECK(none.empty());
  CHECK(times_of(whole) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("record batch: cut what is not in order") {
  RecordBatch whole = batch(4, {1, 7, 3, 8, 2});
  RecordBatch later;
  whole.cut(4, later);
  CHECK(times_of(whole) == std::vector<std::uint64_t>{1, 3, 2});
  CHECK(times_of(later) == std::vector<std::uint64_t>{7, 8});
  CHECK_FALSE(whole.in_order);
  CHECK(later.in_order);
  CHECK(whole.newest == 3);
}
