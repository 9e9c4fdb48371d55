#include "port/code_bytes.h"

#include <doctest/doctest.h>

namespace {

using refhist::CodeBytes;

const CodeBytes kJump{0x1000, {0xe9, 1, 2, 3, 4}, {0x55, 0x48, 0x89, 0xe5, 0x53}};

std::vector<std::uint8_t> shown(refhist::Address address, std::vector<std::uint8_t> bytes) {
  const std::vector<std::uint8_t> before = bytes;
  const bool changed = refhist::put_wanted(kJump, address, bytes);
  CHECK(changed == (before != bytes));
  return bytes;
}

using Bytes = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("the program's bytes take the place of a jump, whole or in part") {
  CHECK(shown(0x1000, {0xe9, 1, 2, 3, 4}) == Bytes{0x55, 0x48, 0x89, 0xe5, 0x53});
  CHECK(shown(0xfff, {7, 0xe9, 1, 2, 3, 4, 8}) == Bytes{7, 0x55, 0x48, 0x89, 0xe5, 0x53, 8});
  CHECK(shown(0xffe, {7, 7, 0xe9, 1}) == Bytes{7, 7, 0x55, 0x48});
  CHECK(shown(0x1003, {3, 4, 9, 9}) == Bytes{0xe5, 0x53, 9, 9});
  CHECK(shown(0x1002, {2}) == Bytes{0x89});
}

TEST_CASE("bytes elsewhere, and what is no jump of ours, stay as they are") {
  CHECK(shown(0x1005, {3, 4}) == Bytes{3, 4});
  CHECK(shown(0xffe, {1, 2}) == Bytes{1, 2});
  CHECK(shown(0x1000, {}).empty());
  CHECK(shown(0x1000, {0xcc, 1, 2, 3, 4}) == Bytes{0xcc, 1, 2, 3, 4});
  CHECK(shown(0x1003, {3, 5}) == Bytes{3, 5});
}
