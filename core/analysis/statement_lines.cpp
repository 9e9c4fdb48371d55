#include "analysis/statement_lines.h"

#include <algorithm>

#include "analysis/frame_module.h"
#include "base/text.h"

namespace refhist {

bool StatementLines::is_brackets(const std::string& file, unsigned line) {
  const std::vector<std::string>& lines = files_.lines_of(file);
  if (line == 0 || line > lines.size()) return false;
  const std::string_view text = trim(lines[line - 1]);
  return !text.empty() && text.find_first_not_of("}])>;, ") == std::string_view::npos;
}

namespace {
// A row tells its file by number only.
std::uint64_t number_of(const std::string& file, const std::vector<LineRow>& rows, const Module& module) {
  constexpr std::size_t kMost = 400;  // rows
  for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    const std::vector<SourceFrame> frames = module.source_frames(rows[i].address);
    if (!frames.empty() && frames.front().file == file && frames.front().line == rows[i].line)
      return rows[i].file;
  }
  return 0;
}
}  // namespace

// The newest statement of the same file that began before the call and above its line.
unsigned StatementLines::newest_before(Address at, const FunctionSymbol& function, const NamedFrame& frame,
                                       const Module& module) {
  constexpr unsigned kFarthest = 60;  // lines
  const std::vector<LineRow> rows = module.line_rows(function.range(), at);
  const std::uint64_t file = number_of(frame.file, rows, module);
  unsigned found = 0;
  for (const LineRow& row : rows) {
    const bool above = row.line < frame.line && frame.line - row.line <= kFarthest;
    if (row.address <= at && row.statement && row.file == file && above && !is_brackets(frame.file, row.line))
      found = row.line;
  }
  return found;
}

unsigned StatementLines::of_call(const NamedFrame& frame) {
  if (!is_brackets(frame.file, frame.line)) return 0;
  const LoadedModule* loaded = module_of(modules_, frame);
  if (loaded == nullptr) return 0;
  const Module& module = loaded->module->code();
  const Address at = frame.pc - loaded->bias - 1;
  return newest_before(at, *module.function_at(at), frame, module);
}

}  // namespace refhist
