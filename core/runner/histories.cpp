#include "runner/histories.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "base/replaced_file.h"
#include "store/session_reader.h"

namespace refhist {

namespace {

void read_history(SessionState& state, const std::string& history, const std::string& cut_short,
                  const std::string& debugger) {
  state.cut_short = cut_short;
  const auto because = [&](const std::string& why) {
    if (state.cut_short.empty()) state.cut_short = why;
  };
  if (!std::filesystem::exists(history)) return because(fmt::format("{} left no history", debugger));
  try {
    SessionReader(history).open(state);
    if (!state.end.by_itself()) because(fmt::format("{} did not see the program end", debugger));
  } catch (const Error& error) {
    because(error.what());
  }
}

void copy_history(const std::string& from, const std::string& to) {
  if (!std::filesystem::exists(from)) return;
  try {
    ReplacedFile replaced(to);
    std::filesystem::copy_file(from, replaced.unfinished(),
                               std::filesystem::copy_options::overwrite_existing);
    replaced.finish();
  } catch (const std::exception& error) {
    fail("{} could not be written: {}", to, error.what());
  }
}

}  // namespace

Histories::Histories(const RunSession& session) {
  read_history(program_, session.history(), session.why_cut_short(), session.debugger());
  processes_.push_back({&program_, session.children() == nullptr ? 0 : session.pid(), 0, {}});
  if (session.children() == nullptr) return;
  for (const ChildSession& child : session.children()->all()) {
    if (child.ended_waiting) continue;
    read_history(children_.emplace_back(), child.history, child.cut_short, session.debugger());
    processes_.push_back({&children_.back(), child.child.pid, child.child.parent, {}});
  }
}

void save_histories(const RunSession& session, const std::string& path) {
  if (path.empty()) return;
  copy_history(session.history(), path);
  if (session.children() == nullptr) return;
  for (const ChildSession& child : session.children()->all())
    copy_history(child.history, fmt::format("{}.{}", path, child.child.pid));
}

}  // namespace refhist
