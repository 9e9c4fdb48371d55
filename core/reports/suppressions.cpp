#include "reports/suppressions.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"
#include "reports/verdict_list.h"

namespace refhist {

Suppressions Suppressions::read(const std::string& path) {
  std::istringstream file(InputFile(path).text());
  Suppressions suppressions;
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    const std::string line(trim(text.substr(0, text.find('#'))));
    if (!line.empty()) suppressions.lines_.push_back(parse(line, fmt::format("{}:{}", path, number)));
  }
  return suppressions;
}

Suppressions::Line Suppressions::parse(const std::string& text, const std::string& place) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon + 1 == text.size())
    fail("{}: {} is not a suppression: expected VERDICT:PATTERN, as in leak:open_conn", place, text);
  Line line{{}, text.substr(colon + 1), text, place};
  const std::string verdicts(trim(text.substr(0, colon)));
  try {
    line.verdicts = verdicts == "*" ? all_verdicts() : verdicts_of(verdicts);
  } catch (const Error& error) {
    fail("{}: {}", place, error.what());
  }
  line.glob = line.glob.starts_with('^') ? line.glob.substr(1) : "*" + line.glob;
  line.glob.ends_with('$') ? line.glob.pop_back() : line.glob.push_back('*');
  return line;
}

bool Suppressions::names(SessionState& state, const Line& line, EventId event) {
  if (!event.valid()) return false;
  const std::vector<NamedFrame> frames = state.namer.stack(state.history.event(event).stack);
  return std::any_of(frames.begin(), frames.end(), [&](const NamedFrame& frame) {
    return glob_match(line.glob, frame.function) || glob_match(line.glob, frame.file) ||
           glob_match(line.glob, frame.module);
  });
}

bool Suppressions::matches(SessionState& state, const Line& line, const ReportedFinding& finding,
                           ObjectId object) {
  if (names(state, line, state.history.object(object).born)) return true;
  if (object != finding.object) return false;
  return names(state, line, finding.event) ||
         std::any_of(finding.references.begin(), finding.references.end(),
                     [&](EventId reference) { return names(state, line, reference); });
}

std::string Suppressions::match(SessionState& state, const ReportedFinding& finding) {
  for (Line& line : lines_) {
    if (std::find(line.verdicts.begin(), line.verdicts.end(), finding.verdict) == line.verdicts.end())
      continue;
    const bool first = matches(state, line, finding, finding.object);
    const bool all = first && std::all_of(finding.alike.begin(), finding.alike.end(), [&](ObjectId object) {
                       return object == finding.object || matches(state, line, finding, object) ||
                              same_birth(state, object, finding.object);
                     });
    if (!all) continue;
    line.used = true;
    return line.text;
  }
  return {};
}

std::vector<std::string> Suppressions::unused() const {
  std::vector<std::string> unused;
  for (const Line& line : lines_) {
    if (!line.used) unused.push_back(fmt::format("{} ({})", line.text, line.place));
  }
  return unused;
}

}  // namespace refhist
