// refhist-run: a program in a debugger, for CI. See docs/ci.md.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "base/replaced_file.h"
#include "base/text.h"
#include "base/version.h"
#include "reports/check.h"
#include "reports/check_report.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/sarif_report.h"
#include "runner/coloured.h"
#include "runner/run_session.h"
#include "store/session_reader.h"

namespace {

using namespace refhist;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kBySignal = 128;  // what a shell adds to the signal's number

/// A folder that lives as long as this.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "refhist-run-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail("no folder for temporary files: set TMPDIR");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Files that are handed to the program must be open.
void open_standard_files() {
  for (int file = open("/dev/null", O_RDWR); file >= 0 && file <= 2; file = open("/dev/null", O_RDWR))
    continue;
}

void tell(const std::string& text) { fmt::print(stderr, "{}", text); }

std::string last_lines(const std::string& path) {
  constexpr std::size_t kLines = 8;
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back("    " + line);
    if (lines.size() > kLines) lines.pop_front();
  }
  return join({lines.begin(), lines.end()}, "\n") + "\n";
}

void write_reports(const Check& check, const RunOptions& options) {
  const SourcePlaces places(options.source_root);
  if (!options.json.empty()) replace_file(options.json, session_json(check));
  if (!options.junit.empty()) replace_file(options.junit, junit_report(check, places));
  if (!options.html.empty()) replace_file(options.html, html_report(check, places));
  if (!options.sarif.empty()) replace_file(options.sarif, sarif_report(check, places));
}

/// What the file says, or nothing but why there is none.
void read_history(SessionState& state, const std::string& history, const std::string& cut_short,
                  const std::string& debugger) {
  state.cut_short = cut_short;
  if (std::filesystem::exists(history)) {
    SessionReader(history).open(state);
    if (state.cut_short.empty() && !state.end.by_itself())
      state.cut_short = fmt::format("{} has not seen the program end", debugger);
    return;
  }
  if (state.cut_short.empty()) state.cut_short = fmt::format("{} has left no history", debugger);
}

/// The program and the children that were followed.
class Histories {
 public:
  explicit Histories(const RunSession& session) {
    read_history(program_, session.history(), session.why_cut_short(), session.debugger());
    processes_.push_back({&program_, session.children() == nullptr ? 0 : session.pid(), 0, {}});
    if (session.children() == nullptr) return;
    for (const ChildSession& child : session.children()->all()) {
      if (child.ended_waiting) continue;
      read_history(children_.emplace_back(), child.history, child.cut_short, session.debugger());
      processes_.push_back({&children_.back(), child.child.pid, child.child.parent, {}});
    }
  }

  [[nodiscard]] SessionState& program() { return program_; }
  [[nodiscard]] const std::vector<CheckedProcess>& processes() const { return processes_; }

 private:
  SessionState program_;
  std::deque<SessionState> children_;
  std::vector<CheckedProcess> processes_;
};

void copy_history(const std::string& from, const std::string& to) {
  if (!std::filesystem::exists(from)) return;
  std::filesystem::copy_file(from, to + ".part", std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(to + ".part", to);
}

/// Of each process a file: FILE, FILE.1234 for a child.
void save_histories(const RunSession& session, const std::string& path) {
  if (path.empty()) return;
  copy_history(session.history(), path);
  if (session.children() == nullptr) return;
  for (const ChildSession& child : session.children()->all())
    copy_history(child.history, fmt::format("{}.{}", path, child.child.pid));
}

int status_of(const Check& check, const RunOptions& options) {
  if (check.status() != 0 || !options.propagate_exit) return check.status();
  const ProcessEnd& end = check.program().end;
  return end.by_signal ? kBySignal + end.status : end.status;
}

Check judge(const Histories& histories, const RunSession& session, const RunOptions& options) {
  Check check = check_processes(
      histories.processes(),
      CheckOptions{options.fail_on, FindingFilter{options.families, options.reachable}, options.suppressions,
                   options.baseline, options.update_baseline, options.allow_unarmed});
  if (session.children() != nullptr) {
    for (std::string& line : session.children()->notes()) check.notes.push_back(std::move(line));
  } else if (options.children) {
    check.notes.push_back("--children: LLDB follows one side of a fork, GDB follows all (--debugger gdb)");
  }
  return check;
}

int run(const RunOptions& options) {
  const ScratchFolder scratch;
  RunSession session(options, find_own_files(), scratch.path());
  session.run();
  Histories histories(session);
  const Check check = judge(histories, session, options);
  save_histories(session, options.save);
  write_reports(check, options);
  if (!options.quiet) {
    const std::string report = check_report(check);
    tell(wants_colour(STDERR_FILENO) ? coloured(report) : report);
  }
  if (!histories.program().cut_short.empty() && session.why_cut_short().empty())
    tell(fmt::format("refhist-run: {} said last:\n{}", session.debugger(), last_lines(session.log())));
  return status_of(check, options);
}

int main_guarded(const std::vector<std::string>& words) {
  try {
    const RunOptions options = parse_run_options(words);
    if (options.help) return fmt::print("{}", run_help()), 0;
    if (options.version) return fmt::print("refhist-run {}\n", version()), 0;
    return run(options);
  } catch (const UsageError& error) {
    tell(fmt::format("refhist-run: {} (refhist-run --help)\n", error.what()));
    return kUsage;
  } catch (const std::exception& error) {
    tell(fmt::format("refhist-run: {}\n", error.what()));
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  return main_guarded(std::vector<std::string>(argv + 1, argv + argc));
}
