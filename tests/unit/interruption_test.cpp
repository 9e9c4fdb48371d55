// Ctrl-C while debug information is read: nothing half-read stays, and what is therefore unknown is said.
#include "base/interruption.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "fixtures/symbols_support.h"
#include "sites/planner.h"
#include "symbols/module.h"

using namespace refhist;
using namespace refhist_test;

namespace {

/// Says no at the N-th question.
class StopAt {
 public:
  explicit StopAt(int question)
      : listening_([this, question](const Interruption::Text& doing) {
          said_ = doing();
          return ++asked_ != question;
        }) {}
  [[nodiscard]] int asked() const { return asked_; }
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  int asked_ = 0;
  std::string said_;
  Interruption listening_;
};

Family conn_family() {
  Family family;
  family.name = "conn";
  ProbeSpec get;
  get.function = "conn_get";
  get.role = Role::get;
  family.probes.push_back(get);
  return family;
}

}  // namespace

TEST_CASE("Without a listener nothing is interrupted; of two listeners the inner one is asked") {
  CHECK_NOTHROW(Interruption::check([] { return std::string("working"); }));
  StopAt outer(1);
  {
    StopAt inner(2);
    CHECK_NOTHROW(Interruption::check([] { return std::string("working"); }));
    CHECK_THROWS_WITH_AS(Interruption::check([] { return std::string("sorting"); }),
                         "stopped by Ctrl-C while sorting", Interrupted);
    CHECK(inner.asked() == 2);
    CHECK(outer.asked() == 0);
  }
  CHECK_THROWS_AS(Interruption::check([] { return std::string("working"); }), Interrupted);
}

TEST_CASE("What is only told is not left half done: Ctrl-C there ends what can be ended next") {
  StopAt stop(1);
  const auto doing = [] { return std::string("arming"); };
  CHECK_NOTHROW(Interruption::tell(doing));
  CHECK_NOTHROW(Interruption::tell(doing));
  CHECK_THROWS_AS(Interruption::check(doing), Interrupted);
  CHECK_NOTHROW(Interruption::check(doing));
  CHECK(stop.asked() == 4);
}

TEST_CASE("An index that was interrupted is built anew") {
  const auto module = Module::open(build("gcc", "symbols_inline.c", "-g -O2"));
  {
    StopAt stop(1);
    CHECK_THROWS_AS(module->type_size("struct conn"), Interrupted);
    CHECK(stop.said().find("reading the debug information of") == 0);
    CHECK_THROWS_AS(
        [&] {
          StopAt again(1);
          module->inlined_copies("conn_get");
        }(),
        Interrupted);
  }
  {
    StopAt never(0);
    CHECK(module->type_size("struct conn").has_value());
    CHECK(never.asked() >= 1);
  }
  // The names are known now; the walk over the function bodies is another one.
  CHECK_THROWS_AS(
      [&] {
        StopAt stop(1);
        module->inlined_copies("conn_get");
      }(),
      Interrupted);
  CHECK_FALSE(module->inlined_copies("conn_get").empty());
}

TEST_CASE("A plan that was interrupted says which copies are not known") {
  LoadedModule loaded{ModuleId(std::size_t{0}), Module::open(build("gcc", "symbols_inline.c", "-g -O2")), 0,
                      0, 0};
  std::vector<Site> sites;
  {
    StopAt stop(1);
    sites = plan_sites(FamilyId(std::size_t{0}), conn_family(), std::nullopt, loaded);
  }
  REQUIRE_FALSE(sites.empty());
  const Site& unknown = sites.back();
  CHECK(unknown.function == "inlined copies of conn_get");
  CHECK(unknown.why_not.find("stopped by Ctrl-C while reading the debug information") == 0);
  CHECK(std::none_of(sites.begin(), sites.end(), [](const Site& site) { return site.inlined; }));
  sites = plan_sites(FamilyId(std::size_t{0}), conn_family(), std::nullopt, loaded);
  CHECK(std::any_of(sites.begin(), sites.end(), [](const Site& site) { return site.inlined; }));
}
