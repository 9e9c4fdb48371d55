#include "agent_host/code_lines.h"

#include <doctest/doctest.h>

#include "agent_host/symbol_file.h"
#include "symbols/module.h"

namespace {

using refhist::DebuggerPort;
using refhist::LineRow;

std::vector<LineRow> rows_of(DebuggerPort::PassedLine line) {
  const std::vector<refhist::CodeName> names{{"refhist_first", 0x10, 0x30}};
  const refhist::CodeLines lines = refhist::make_code_lines(0x10, 0x100, line);
  const auto file = refhist::make_symbol_file(0x100, names, {}, 0x200, &lines);
  const auto module = refhist::Module::from_image("[lines]", file);
  return module->line_rows({0x10, 0x100}, 0x10);
}

}  // namespace

TEST_CASE("the agent's code is one row, in the line that the debugger passes") {
  const std::vector<LineRow> rows = rows_of(DebuggerPort::PassedLine::no_statement);
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().address == 0x10);
  CHECK(rows.front().line == 1);
  const std::vector<LineRow> none = rows_of(DebuggerPort::PassedLine::zero);
  REQUIRE(none.size() == 1);
  CHECK(none.front().line == 0);
}

TEST_CASE("without lines a symbol file has no rows") {
  const auto file = refhist::make_symbol_file(0x100, {}, {}, 0x200);
  CHECK(refhist::Module::from_image("[none]", file)->line_rows({0x10, 0x100}, 0x10).empty());
}
