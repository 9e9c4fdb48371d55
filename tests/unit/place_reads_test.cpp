// Which registers and words of a frame a function will read: fixtures/place_reads.S.
#include "x86/place_reads.h"

#include <doctest/doctest.h>

#include <string>

#include "fixture_program.h"

using namespace refhist;

namespace {

/// From the function's first instruction on.
class Reads {
 public:
  Reads() : module_(Module::open(test::build_fixture("place_reads.S", "-shared -nostdlib"))) {}

  bool of(const std::string& function, const FramePlaces& places) {
    const auto found = module_->functions_named(function);
    REQUIRE(found.size() == 1);
    return reads_.any(*module_, found.front().address, places);
  }
  bool of(const std::string& function, unsigned reg) {
    FramePlaces places;
    places.registers = 1U << reg;
    return of(function, places);
  }
  bool word(const std::string& function, std::int64_t at, std::int64_t reach = 8) {
    FramePlaces places;
    places.words = {at};
    places.reach = reach;
    return of(function, places);
  }

 private:
  ModuleMap modules_;
  CodeGraph graph_{modules_};
  PlaceReads reads_{graph_};
  std::shared_ptr<const Module> module_;
};

}  // namespace

TEST_CASE("a register is read on one of the ways") {
  Reads reads;
  CHECK(reads.of("one_branch", kRbx));
  CHECK(reads.of("one_branch", kRax));
  CHECK(!reads.of("one_branch", kRdi));
  CHECK(reads.of("round", kRbx));
}

TEST_CASE("what is overwritten or restored is not read") {
  Reads reads;
  CHECK(!reads.of("overwritten", kRbx));
  CHECK(reads.of("overwritten", kRdi));
  CHECK(!reads.of("restored", kRbx));
  CHECK(!reads.word("restored", 0));
}

TEST_CASE("the result is the caller's") {
  Reads reads;
  CHECK(reads.of("result", kRax));
  FramePlaces places;
  places.registers = 1U << kRax;
  places.result = false;
  CHECK(!reads.of("result", places));
}

TEST_CASE("a word of the frame is the same wherever the stack pointer is") {
  Reads reads;
  CHECK(reads.word("spilled", 8));
  CHECK(!reads.word("spilled", 16));
  CHECK(!reads.word("replaced", 8));
  CHECK(reads.word("moved_stack", 8));
  CHECK(!reads.word("moved_stack", 32));
}

TEST_CASE("who is called reads what it is handed, and what its address leads to") {
  Reads reads;
  CHECK(reads.of("handed", kRdi));
  CHECK(!reads.of("handed", kRsi));
  CHECK(reads.word("address", 24, 32));
  CHECK(!reads.word("address", 24, 8));
}

TEST_CASE("code that cannot be read may read anything") {
  ModuleMap modules;
  CodeGraph graph(modules);
  PlaceReads reads(graph);
  const auto module = Module::open(test::build_fixture("place_reads.S", "-shared -nostdlib"));
  FramePlaces places;
  places.registers = 1U << kRbx;
  CHECK(reads.any(*module, 0x7fff0000, places));
  CHECK(!reads.any(*module, 0x7fff0000, FramePlaces()));
}
