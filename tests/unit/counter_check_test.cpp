// Family files about other versions of a library: the code of its functions tells where the counter is.
#include "sites/counter_check.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "families/family_file.h"

namespace refhist::test {

namespace {

Family json_object(int offset) {
  return parse_families(fmt::format("schema = 1\n[[family]]\nname = \"json_object\"\n"
                                    "modules = [\"libjson-c.so*\"]\ncount_offset = {}\n"
                                    "get = [\"json_object_get\"]\nput = [\"json_object_put\"]\n",
                                    offset),
                        "mine.toml")
      .front();
}

std::optional<CounterByCode> look(const Family& family, const std::string& library) {
  const LoadedModule loaded{ModuleId(std::size_t{0}), Module::open("/usr/lib/x86_64-linux-gnu/" + library), 0,
                            0, ~Address{0}};
  return counter_by_code(family, {&loaded});
}

}  // namespace

TEST_CASE("the code bears out a family that is right") {
  const auto found = look(json_object(4), "libjson-c.so.5");
  REQUIRE(found);
  CHECK(found->get == "json_object_get");
  CHECK_FALSE(found->elsewhere);
}

TEST_CASE("the code says where the counter is, when the family is wrong") {
  for (const int offset : {0, 8, 48, -4}) {
    const auto found = look(json_object(offset), "libjson-c.so.5");
    REQUIRE(found);
    REQUIRE(found->elsewhere);
    CHECK(found->elsewhere->offset == 4);
    CHECK(found->elsewhere->size == 4);
  }
}

TEST_CASE("a family whose functions are not in the library is not judged") {
  CHECK_FALSE(look(json_object(8), "libm.so.6"));
  CHECK_FALSE(look(json_object(8), "libglib-2.0.so.0"));
}

}  // namespace refhist::test
