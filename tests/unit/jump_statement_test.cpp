// The statement by which a way leaves that has no code of its own.
#include "analysis/jump_statement.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace refhist;

namespace {

std::optional<unsigned> behind(const std::string& source, unsigned line,
                               const std::set<unsigned>& compiled = {}) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("refhist-jumps-{}.c", getpid());
  std::ofstream(path) << source;
  const auto found = JumpStatements().behind(path.string(), line, compiled);
  std::filesystem::remove(path);
  return found;
}

}  // namespace

TEST_CASE("a jump that follows on a line is found behind comments and blank lines") {
  CHECK(behind("n++;\ncontinue;\n", 1) == 2);
  CHECK(behind("n++;\n\n// so\n/* and\n   so */\n  goto out;\n", 1) == 6);
  CHECK(behind("n++;\nreturn -1;\n", 1) == 2);
  CHECK(behind("n++;\nbreak;\n", 1) == 2);
}

TEST_CASE("the brace of the line's own condition may stand on a line of its own") {
  CHECK(behind("if (n)\n{\n  continue;\n}\n", 1) == 3);
  CHECK(behind("if (n)\n{\n#ifdef BUG\n  continue;\n#else\n  put(n);\n#endif\n}\n", 1, {1, 9}) == 4);
}

TEST_CASE("another statement, a brace or a longer name is no jump") {
  CHECK(!behind("n++;\nm++;\nreturn;\n", 1));
  CHECK(!behind("n++;\n}\nreturn;\n", 1));
  CHECK(!behind("n++;\nreturned();\n", 1));
  CHECK(!behind("if (n) return 1;\nreturn 0;\n", 1));
  CHECK(!behind("n++;\n", 1));
  CHECK(!behind("", 1));
  CHECK(!JumpStatements().behind("/no/such/file.c", 1, {}));
}

TEST_CASE("what was not compiled is passed over, what was is not") {
  const std::string source = "n++;\n#ifdef DEBUG\nlog(n);\n#endif\nreturn 0;\n";
  CHECK(behind(source, 1, {1, 5}) == 5);
  CHECK(!behind(source, 1, {1, 3, 5}));
  CHECK(behind("n++;\n#ifdef DEBUG\nreturn 1;\n#endif\nreturn 0;\n", 1, {1, 5}) == 5);
  CHECK(!behind("n++;\n#ifdef DEBUG\nreturn 1;\n#endif\n}\n", 1, {1}));
  CHECK(behind("n++;\n#ifdef DEBUG\nreturn 1;\n#else\ngoto out;\n#endif\n}\n", 1, {1}) == 3);
}

TEST_CASE("a statement whose code another way has as well is passed over within its block") {
  CHECK(behind("n++;\nfree(key);\ncontinue;\n", 1, {1}) == 3);
  CHECK(!behind("n++;\nfree(key);\ncontinue;\n", 1, {1, 2}));
  CHECK(!behind("n++;\n}\ncontinue;\n", 1, {1}));
  CHECK(!behind("n++;\nif (key)\n  return;\n", 1, {1}));
  CHECK(!behind("n++;\ncase 2:\n  return;\n", 1, {1}));
}
