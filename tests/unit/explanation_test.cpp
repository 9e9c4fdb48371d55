// Where the way of a lost reference parts from one on which it was given back.
#include "explain/explanation.h"

#include <doctest/doctest.h>

#include "base/error.h"

using namespace refhist;

namespace {

constexpr int kPut = 1000;  // added to a line: the put is there

FollowedWay way(const std::vector<int>& lines) {
  FollowedWay way;
  way.function = "serve";
  way.end = FollowedWay::End::returned;
  for (const int line : lines) {
    FollowedStep step{"serve", "/nowhere/serve.c", static_cast<unsigned>(line % kPut), {}, true};
    if (line >= kPut) step.events.push_back({Role::put, 2, 1});
    way.steps.push_back(step);
  }
  return way;
}

std::optional<unsigned> parted_in(const std::vector<int>& lost, const std::vector<int>& kept) {
  const auto found = parting(way(lost), way(kept));
  return found ? std::optional(found->line) : std::nullopt;
}

}  // namespace

TEST_CASE("ways part at the line that only the lost one has") {
  CHECK(parted_in({1, 2, 5, 9}, {1, 2, 7, kPut + 8, 9}) == 5);
}

TEST_CASE("a line that a loop passes again is not where the ways part") {
  CHECK(!parted_in({1, 2, 3, 2, 3, 9}, {1, 2, kPut + 8, 9}));
  CHECK(!parted_in({1, 2, 3, 9}, {1, 2, 3, 2, 3, kPut + 2, 9}));
}

TEST_CASE("of several lines it is the last one, if that leaves; the source must say so") {
  CHECK(!parted_in({1, 2, 5, 6, 9}, {1, 2, 7, kPut + 8, 9}));
}

TEST_CASE("a branch around the put has no line of its own") {
  CHECK(parted_in({1, 2, 9}, {1, 2, kPut + 8, 9}) == 2);
}

TEST_CASE("a round of a loop ends where the next reference is taken") {
  CHECK(parted_in({1, 2, 5, 0, 1, 2, kPut + 8, 0}, {1, 2, kPut + 8, 0, 1, 2, 5, 0}) == 5);
}

TEST_CASE("a loop that gives back behind its end takes the next one over the last") {
  FollowedWay lost = way({1, 2, 3, 1, 2, 3, kPut + 8, 9});
  const FollowedWay kept = way({1, 2, 3, kPut + 8, 9});
  CHECK(!parting(lost, kept));  // it has both
  for (std::size_t i = 4; i < lost.steps.size(); ++i) lost.steps[i].in_hand = false;
  const auto found = parting(lost, kept);
  REQUIRE(found);
  CHECK(found->taken_again);
  CHECK(found->line == 1);
}

TEST_CASE("only what had the pointer until the ways parted was lost there") {
  FollowedWay lost = way({1, 2, 5, 9});
  const FollowedWay kept = way({1, 2, 7, kPut + 8, 9});
  lost.steps[1].in_hand = false;
  CHECK(!parting(lost, kept));
  lost.steps[1].in_hand = true;
  lost.steps[2].in_hand = false;  // nobody needs it any more
  CHECK(parting(lost, kept));
}

TEST_CASE("it is the first lines of its own that part a way from the other one") {
  CHECK(parted_in({1, 2, 5, 9, 6, 10}, {1, 2, 3, 7, kPut + 8, 9, 10}) == 5);
}

TEST_CASE("ways that come together again before the put have not parted there") {
  CHECK(!parted_in({1, 2, 5, 3, 9}, {1, 2, 3, 7, kPut + 8, 9}));
  CHECK(!parted_in({1, 2, 5, 9}, {1, kPut + 1, 2, 7, 9}));
}

TEST_CASE("nothing is said of ways that give back or are the same") {
  CHECK(!parted_in({1, 2, kPut + 8, 9}, {1, 2, kPut + 8, 9}));
  CHECK(!parted_in({}, {1, kPut + 2}));
}

TEST_CASE("a way is the same when it has been written and read") {
  FollowedWay written = way({1, 2, kPut + 8});
  written.object = 0x5555;
  written.kept_in = "heap block 0x1+0x8";
  written.replaced = 1;
  written.freed = true;
  written.holders = {{0, "the result"}};
  const FollowedWay read = FollowedWay::of_json(written.json());
  CHECK(read.json() == written.json());
  CHECK(read.gives_back());
  CHECK(read.freed);
  CHECK_THROWS_AS(FollowedWay::of_json("{}"), Error);
  CHECK_THROWS_AS(FollowedWay::of_json("no"), Error);
}
