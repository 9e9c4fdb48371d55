#include "session/armed_lines.h"

#include <algorithm>

#include "base/error.h"

namespace refhist {

namespace {

constexpr std::size_t kMostLines = 4000;  // of a function

}  // namespace

void ArmedLines::arm(DebuggerPort& port, Address address) {
  if (armed_.contains(address) || !state_->agent.covered_code(address, address + 1).empty()) return;
  if (state_->breakpoints.arm(port, address)) armed_.insert(address);
}

Address ArmedLines::arm_function(DebuggerPort& port, const LoadedModule& loaded, Address inside,
                                 const std::string& name) {
  const Module& module = *loaded.module;
  const auto function = module.function_at(inside - loaded.bias);
  if (!function) fail("where {} begins and ends is not known", name);
  const FileRange range = function->range();
  const std::vector<LineRow> rows = module.line_rows(range, function->address);
  if (rows.size() > kMostLines) fail("{} has too many lines", name);
  const std::size_t before = armed_.size();
  for (const LineRow& row : rows) {
    if (row.statement && !row.ends_sequence && row.line != 0 && range.contains(row.address))
      arm(port, row.address + loaded.bias);
  }
  if (armed_.size() == before) fail("{} has no lines: it was built without debug information", name);
  return function->address + loaded.bias;
}

void ArmedLines::disarm(DebuggerPort& port) {
  for (const Address address : armed_) state_->breakpoints.disarm(port, address);
  armed_.clear();
}

}  // namespace refhist
