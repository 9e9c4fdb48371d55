// refhist-run: a program in a debugger, for CI. See docs/ci.md.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "base/printable.h"
#include "base/quarantine_size.h"
#include "base/replaced_file.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "base/version.h"
#include "explain/explanation.h"
#include "explain/second_run.h"
#include "reports/baseline.h"
#include "reports/check.h"
#include "reports/check_report.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/sarif_report.h"
#include "reports/suppressions.h"
#include "runner/coloured.h"
#include "runner/completion.h"
#include "runner/histories.h"
#include "runner/refused_order.h"
#include "runner/run_session.h"
#include "runner/sending.h"
#include "session/program_identity.h"

namespace {

using namespace refhist;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kBySignal = 128;  // what a shell adds to the signal's number

/// What is opened from now on is none of these.
void open_standard_files() {
  for (int file = open("/dev/null", O_RDWR); file >= 0 && file <= 2; file = open("/dev/null", O_RDWR))
    continue;
}

void show(const std::string& text) { fmt::print(stderr, "{}", text); }

/// Names and logs are others'.
void tell(const std::string& text) { show(printable(text)); }

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
  const SourcePlaces places(options.source_root, ReadSources::all);
  if (!options.json.empty()) replace_file(options.json, session_json(check));
  if (!options.junit.empty()) replace_file(options.junit, junit_report(check, places));
  if (!options.html.empty()) replace_file(options.html, html_report(check, places));
  if (!options.sarif.empty()) replace_file(options.sarif, sarif_report(check, places));
}

int status_of(const Check& check, const RunOptions& options) {
  if (check.status() != 0 || !options.propagate_exit) return check.status();
  const ProcessEnd& end = check.program().end;
  return end.by_signal ? kBySignal + end.status : end.status;
}

Check judge(const Histories& histories, const RunSession& session, const RunOptions& options) {
  CheckOptions wanted{options.fail_on,         FindingFilter{options.families, options.reachable},
                      options.suppressions,    options.baseline,
                      options.update_baseline, options.allow_unarmed};
  if (!options.new_against.empty()) {
    wanted.ask_known = [&](const std::vector<std::string>& fingerprints) {
      return known_on_branch(options, fingerprints);
    };
    wanted.known_by = "branch " + options.new_against;
  }
  Check check = check_processes(histories.processes(), wanted);
  if (session.children() != nullptr) {
    for (std::string& line : session.children()->notes()) check.notes.push_back(std::move(line));
  } else if (options.children) {
    check.notes.push_back("--children: LLDB follows one side of a fork, GDB follows all (--debugger gdb)");
  }
  return check;
}

/// Before a program runs for an hour.
void refuse_bad_files(const RunOptions& options) {
  for (const std::string* file :
       {&options.json, &options.junit, &options.html, &options.sarif, &options.save, &options.log}) {
    if (!file->empty()) expect_replaceable(*file);
  }
  if (!options.suppressions.empty()) Suppressions::read(options.suppressions);
  if (options.baseline.empty()) return;
  options.update_baseline ? expect_replaceable(options.baseline) : void(Baseline::read(options.baseline));
}

/// What refhist-run was given, for a second run.
ProgramIdentity program_of(const RunOptions& options) {
  ProgramIdentity program{find_program(options.program.front()), options.program, 0};
  program.input = input_of("self");
  return program;
}

/// Those that say what is recorded, and not what is kept of it.
std::vector<std::string> recording_settings(const RunOptions& options) {
  std::vector<std::string> settings = options.settings;
  std::erase_if(settings, [](const std::string& setting) {
    return !setting.starts_with("allocators ") && !setting.starts_with("backend ") &&
           !setting.starts_with("stacks ") && !setting.starts_with(kQuarantineSetting);
  });
  return settings;
}

/// Runs the program again for its leaks and late puts. Returns what is to be shown.
std::string explain_leaks(Histories& histories, const RunSession& session, const RunOptions& options) {
  SessionState& state = histories.program();
  const std::vector<ObjectId> objects = explainable(state, kMostExplained);
  if (objects.empty()) return {};
  std::error_code error;
  const SecondRun second{std::filesystem::read_symlink("/proc/self/exe", error).string(),
                         session.debugger(),
                         recording_settings(options),
                         options.tracked,
                         program_of(options),
                         options.explain_seconds};
  try {
    std::string text;
    for (const Explanation& explanation : explain(state, objects, second)) text += explanation.text(state);
    return text;
  } catch (const Error& failed) {
    return fmt::format("refhist-run: nothing could be explained: {}\n", failed.what());
  }
}

int run(const RunOptions& options, const Inherited& inherited) {
  refuse_bad_files(options);
  const ScratchFolder scratch;
  RunSession session(options, find_own_files(), inherited, scratch.path());
  session.run();
  if (const auto refused = refused_order(session.script(), session.log())) throw UsageError(*refused);
  Histories histories(session);
  save_histories(session, options.save);
  const std::string explained = options.explain ? explain_leaks(histories, session, options) : std::string();
  const Check check = judge(histories, session, options);
  if (!options.quiet) {
    const std::string report = printable(check_report(check) + explained);
    show(wants_colour(STDERR_FILENO) ? coloured(report) : report);
  }
  write_reports(check, options);
  if (!options.send.empty()) {
    const std::string sent = send_run(check, options, session.debugger(), session.history());
    if (!options.quiet || sent.find(": not sent") != std::string::npos) tell(sent);
  }
  if (!histories.program().cut_short.empty() && session.why_cut_short().empty())
    tell(
        fmt::format("refhist-run: the last output of {}:\n"
                    "{}",
                    session.debugger(), last_lines(session.log())));
  return status_of(check, options);
}

int main_guarded(const std::vector<std::string>& words, const Inherited& inherited) {
  try {
    if (!words.empty() && words.front() == "--complete") {  // asked by the shell: see completion/
      const Completion found = complete_options(run_option_specs(), {words.begin() + 1, words.end()});
      return fmt::print("{}", completion_text(found)), 0;
    }
    const RunOptions options = parse_run_options(words);
    if (options.help) return fmt::print("{}", run_help()), 0;
    if (options.version) return fmt::print("refhist-run {}\n", version()), 0;
    return run(options, inherited);
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
  const Inherited inherited = Inherited::take();
  open_standard_files();
  return main_guarded(std::vector<std::string>(argv + 1, argv + argc), inherited);
}
