// Which breakpoints are in the program for which reasons, and what an address is for.
#include "session/stop_points.h"

#include <doctest/doctest.h>

#include <set>

#include "runner/no_debugger.h"

namespace refhist::test {

namespace {

/// Keeps the breakpoints that it is asked for, except at one address.
class Placing final : public NoDebugger {
 public:
  static constexpr Address kRefused = 0x66;
  bool place_breakpoint(Address address) override {
    return address != kRefused && placed.insert(address).second;
  }
  void remove_breakpoint(Address address) override { placed.erase(address); }
  std::set<Address> placed;
};

struct Points {
  Placing port;
  Breakpoints breakpoints;
  StopPoints points{breakpoints};
};

}  // namespace

TEST_CASE("stop points: one address, several reasons, one breakpoint") {
  Points p;
  CHECK(p.points.add(p.port, 0x10, StopPoint::exit));
  CHECK(p.points.add(p.port, 0x10, StopPoint::call_return));
  CHECK(p.points.add(p.port, 0x10, StopPoint::call_return));
  CHECK(p.port.placed == std::set<Address>{0x10});
  CHECK(p.points.at(0x10).has(StopPoint::exit));
  CHECK_FALSE(p.points.at(0x10).has(StopPoint::fork));
  CHECK_FALSE(p.points.at(0x11).has(StopPoint::exit));

  p.points.remove(p.port, 0x10, StopPoint::call_return);
  p.points.remove(p.port, 0x10, StopPoint::call_return);
  CHECK(p.port.placed == std::set<Address>{0x10});
  p.points.remove(p.port, 0x10, StopPoint::exit);
  CHECK(p.port.placed.empty());
  CHECK_FALSE(p.points.any(StopPoint::exit));
}

TEST_CASE("stop points: what the debugger refuses is for nothing") {
  Points p;
  CHECK_FALSE(p.points.add(p.port, Placing::kRefused, StopPoint::exit));
  CHECK_FALSE(p.points.add_rule(p.port, Placing::kRefused, 1));
  CHECK_FALSE(p.points.any(StopPoint::exit));
  CHECK(p.points.at(Placing::kRefused).rules().empty());
}

TEST_CASE("stop points: rules that watch one function share its breakpoint") {
  Points p;
  CHECK(p.points.add_rule(p.port, 0x20, 1));
  CHECK(p.points.add_rule(p.port, 0x20, 2));
  CHECK(p.points.add_rule(p.port, 0x20, 2));
  CHECK(p.points.at(0x20).rules() == std::vector<int>{1, 2});
  CHECK(p.port.placed == std::set<Address>{0x20});
}

TEST_CASE("stop points: some of a kind, an unmapped library, an ended process") {
  Points p;
  for (const Address address : {0x10U, 0x20U, 0x30U}) p.points.add(p.port, address, StopPoint::call_return);
  p.points.add(p.port, 0x20, StopPoint::exit);
  p.points.remove_if(p.port, StopPoint::call_return, [](Address address) { return address < 0x30; });
  CHECK(p.port.placed == std::set<Address>{0x20, 0x30});
  CHECK(p.points.first(StopPoint::call_return) == 0x30);

  p.breakpoints.drop(p.port, 0x20, 0x28);
  p.points.drop(0x20, 0x28);
  CHECK_FALSE(p.points.any(StopPoint::exit));
  CHECK(p.port.placed == std::set<Address>{0x30});
  p.points.clear();
  CHECK_FALSE(p.points.any(StopPoint::call_return));
}

}  // namespace refhist::test
