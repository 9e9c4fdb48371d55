// Builds the programs of tests/unit/fixtures that tests run or read.
#pragma once

#include <string>

namespace refhist::test {

/// Path of the program that the C or C++ file in fixtures/ gives with these compiler flags. Each
/// combination is built once and removed at the end of the tests. Throws std::runtime_error when it cannot be
/// built.
std::string build_fixture(const std::string& source, const std::string& flags);

}  // namespace refhist::test
