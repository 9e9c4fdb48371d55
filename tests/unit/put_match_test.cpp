// Which put had no reference, by where references were taken and pointers stored.
#include "explain/put_match.h"

#include <doctest/doctest.h>

using namespace refhist;

namespace {

FollowedStep frame(const char* function, unsigned line, Address cfa) {
  FollowedStep step;
  step.function = function;
  step.line = line;
  step.frame = cfa;
  return step;
}

const FollowedStep kMain = frame("main", 90, 0x9000);

TakenReference taken(const char* function, unsigned line, std::size_t at) {
  return {{frame(function, line, 0x8000), kMain}, at};
}

GivenReference given(const char* function, unsigned line, std::size_t at, bool stored = false) {
  return {{frame(function, line, 0x8000), kMain}, at, stored, 0, 0};
}

std::vector<std::vector<double>> costs_of(const std::vector<TakenReference>& taken,
                                          const std::vector<GivenReference>& given) {
  std::vector<std::vector<double>> costs;
  for (const GivenReference& one : given) {
    std::vector<double>& row = costs.emplace_back();
    for (const TakenReference& reference : taken) row.push_back(one.cost + pair_cost(reference, one));
    row.push_back(one.cost + one.unlikely);
  }
  return costs;
}

std::optional<PutMatch> match(const std::vector<TakenReference>& taken,
                              const std::vector<GivenReference>& given) {
  return match_puts(costs_of(taken, given), taken.size());
}

}  // namespace

TEST_CASE("what a function stores has the reference that the same call has taken") {
  const auto found =
      match({taken("push", 10, 0)}, {given("push_urgent", 20, 0, true), given("push", 11, 0, true)});
  REQUIRE(found);
  CHECK(found->unmatched == 0);
  CHECK(found->taken[1] == 0);
}

TEST_CASE("a put does not give back what is taken after it") {
  const auto found = match({taken("move", 10, 2)}, {given("move", 12, 1), given("other", 30, 3)});
  REQUIRE(found);
  CHECK(found->unmatched == 0);
}

TEST_CASE("a pointer may be stored just before its reference is taken") {
  const auto found = match({taken("keep", 11, 1)}, {given("keep", 10, 0, true), given("keep", 40, 0)});
  REQUIRE(found);
  CHECK(found->unmatched == 1);
}

TEST_CASE("calls of a function from different lines are different calls") {
  TakenReference first = taken("look_up", 10, 0);
  first.stack.back().line = 80;
  GivenReference same = given("drop", 20, 1);
  same.stack.back().line = 80;
  const GivenReference other = given("look_up", 12, 1);
  // look_up was left in between: its later call has nothing of the first one.
  CHECK(depth_inside(first.stack, other.stack) == 1);
  CHECK(depth_inside(first.stack, same.stack) == 1);
  const FollowedStep inner = frame("get", 5, 0x7000);
  CHECK(depth_inside({inner, first.stack[0], first.stack[1]}, first.stack) == 1);
}

TEST_CASE("what must have had a reference is not left over, and nothing matches where all must") {
  const std::vector<TakenReference> one{taken("push", 10, 0)};
  const std::vector<GivenReference> two{given("push_urgent", 20, 0, true), given("push", 11, 0, true)};
  std::vector<std::vector<double>> costs = costs_of(one, two);
  costs[0].back() = kImpossible;
  const auto second = match_puts(costs, 1);
  REQUIRE(second);
  CHECK(second->unmatched == 1);
  CHECK(second->cost > match(one, two)->cost);
  costs[1].back() = kImpossible;
  CHECK_FALSE(match_puts(costs, 1));
}

TEST_CASE("a put that correct objects have, too, is left over last") {
  std::vector<GivenReference> puts{given("release", 20, 1), given("release", 22, 2)};
  puts[0].unlikely = 6;
  const auto found = match({taken("release", 21, 0)}, puts);
  REQUIRE(found);
  CHECK(found->unmatched == 1);
}

TEST_CASE("where as many were taken as are given, and all had one, none is left over") {
  std::vector<std::vector<double>> costs =
      costs_of({taken("push", 10, 0), taken("keep", 20, 1)}, {given("keep", 21, 2), given("push", 11, 3)});
  for (std::vector<double>& row : costs) row.back() = kImpossible;
  const auto found = match_puts(costs, 2);
  REQUIRE(found);
  CHECK_FALSE(found->unmatched);
  CHECK(found->taken[0] == 1);
  CHECK(found->taken[1] == 0);
}

TEST_CASE("what one statement takes and stores belongs together, more than what lies on the next line") {
  const auto in_main = [](const char* function, unsigned line, unsigned line_of_main) {
    FollowedStep outer = kMain;
    outer.line = line_of_main;
    return CallStack{frame(function, line, 0x8000), outer};
  };
  const std::vector<TakenReference> taken{{in_main("compile", 64, 166), 0}, {in_main("compile", 61, 168), 1}};
  const std::vector<GivenReference> given{{in_main("copy", 107, 169), 1, true, 0, 0},
                                          {in_main("assign", 117, 166), 0, true, 0, 0},
                                          {in_main("assign", 117, 168), 1, true, 0, 0}};
  const auto found = match(taken, given);
  REQUIRE(found);
  CHECK(found->unmatched == 0);
  CHECK(found->cost < kFrameCost * 2);
}

TEST_CASE("what is put into memory does not come from a variable") {
  TakenReference kept = taken("adopt", 10, 0);
  kept.is_stored = true;
  const auto found = match({kept}, {given("adopt", 11, 1), given("adopt", 30, 1, true)});
  REQUIRE(found);
  CHECK(found->unmatched == 0);
}
