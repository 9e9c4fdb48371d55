#include "agent/site_values.h"

#include <doctest/doctest.h>

namespace refhist {

TEST_CASE("a count in the uppermost bits of an unsigned word has no sign") {
  const auto uppermost = [](std::uint64_t bits) { return agent::references(bits << 60U, 8, true, 60, 1, 1); };
  CHECK(uppermost(0) == 1);
  CHECK(uppermost(7) == 8);
  CHECK(uppermost(8) == 9);
  CHECK(uppermost(15) == 16);
  CHECK(agent::references(std::uint64_t{9} << 60U | 5, 8, true, 60, 1, 0) == 9);
  CHECK(agent::references(0xc0, 1, true, 4, 1, 0) == 12);
}

TEST_CASE("a long unsigned count that has come below nothing is told as that") {
  CHECK(agent::references(0xffffffff, 4, true, 0, 1, 0) == -1);
  CHECK(agent::references(std::uint64_t(-4), 8, true, 2, 1, 0) == -1);  // two flags below it
  CHECK(agent::references(std::uint64_t{9} << 60U, 8, false, 60, 1, 0) == -7);
}

}  // namespace refhist
