// Which put answers which get: the cheapest assignment, and how two calls stand to each other.
#include <doctest/doctest.h>

#include "analysis/assignment.h"
#include "analysis/call_paths.h"
#include "base/error.h"

using namespace refhist;

namespace {

constexpr std::uint32_t kMain = 1;
constexpr std::uint32_t kServe = 2;
constexpr std::uint32_t kOpen = 3;
constexpr std::uint32_t kFinish = 4;

/// Steps from the innermost outwards: function, and where it is in it.
CallPath path(std::vector<CallPath::Step> steps) { return {std::move(steps), false, Held::unknown, {}}; }

bool same_call(const CallPath& get, const CallPath& put, std::size_t get_depth, std::size_t put_depth) {
  const auto relation = CallPaths::relation(get, put);
  return relation && relation->same_call && relation->get == get_depth && relation->put == put_depth;
}

}  // namespace

TEST_CASE("the cheapest assignment gives way where that costs less in all") {
  CHECK(cheapest_assignment({}).empty());
  CHECK(cheapest_assignment({{3, 1, 2}}) == std::vector<std::size_t>{1});
  // Each row would have the first column by itself.
  CHECK(cheapest_assignment({{1, 2, 9}, {1, 5, 9}}) == std::vector<std::size_t>{1, 0});
  CHECK(cheapest_assignment({{1, 9, 9}, {1, 2, 9}, {1, 2, 3}}) == std::vector<std::size_t>{0, 1, 2});
  CHECK(cheapest_assignment({{4, 1, 3}, {2, 0, 5}, {3, 2, 2}}) == std::vector<std::size_t>{1, 0, 2});
  CHECK_THROWS_AS(cheapest_assignment({{1}, {2}}), Error);
}

TEST_CASE("a put stands to a get as their stacks do") {
  const CallPath get = path({{kServe, 0x20}, {kMain, 0x10}});
  // In the same call of the same function, elsewhere in it.
  CHECK(same_call(get, path({{kServe, 0x28}, {kMain, 0x10}}), 0, 0));
  // In a function that the taker calls with it, and in one that had called for it.
  CHECK(same_call(get, path({{kFinish, 0x80}, {kServe, 0x28}, {kMain, 0x10}}), 0, 1));
  CHECK(same_call(path({{kOpen, 0x60}, {kServe, 0x20}, {kMain, 0x10}}), path({{kServe, 0x28}, {kMain, 0x10}}),
                  1, 0));
  // In another call of it.
  const auto other = CallPaths::relation(get, path({{kServe, 0x28}, {kMain, 0x18}}));
  REQUIRE(other);
  CHECK(!other->same_call);
  CHECK(other->get == 0);
  // In a function that is not on the stack at all.
  CHECK(!CallPaths::relation(get, path({{kFinish, 0x80}, {kMain, 0x18}})));
}

TEST_CASE("calls of what was inlined are one call where they are in one frame") {
  const CallPath get = path({{kOpen, 0x20, true}, {kServe, 0x20, false}, {kMain, 0x10}});
  CHECK(same_call(get, path({{kOpen, 0x28, true}, {kServe, 0x28, false}, {kMain, 0x10}}), 0, 0));
  CHECK(same_call(get, path({{kServe, 0x28, false}, {kMain, 0x10}}), 1, 0));
  CHECK(same_call(
      get, path({{kFinish, 0x28, true}, {kOpen, 0x28, true}, {kServe, 0x28, false}, {kMain, 0x10}}), 0, 1));
}
