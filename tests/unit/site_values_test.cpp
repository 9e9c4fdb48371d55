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

TEST_CASE("a count between other bits of a word") {
  const std::uint64_t word = 0xab000000U | 5;
  CHECK(agent::references(word, 4, true, 0, 1, 0, 24) == 5);
  CHECK(agent::references(0xab000000U, 4, true, 0, 1, 0, 24) == 0);
  CHECK(agent::references(0xabffffffU, 4, true, 0, 1, 0, 24) == -1);  // put once too often
  CHECK(agent::references(0x3ffcU << 2U | 3, 2, true, 4, 1, 0, 4) == 15);
  CHECK(agent::references(7U << 3U | 7, 8, true, 3, 1, 1, 40) == 8);
}

}  // namespace refhist
