#include "runner/debugger_script.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "runner/launch_message.h"

extern char** environ;

namespace refhist {

namespace {
/// The program stops at these, so that refhist can look what a crash has to do with a dead object. One that
/// handles them may get thousands.
constexpr std::string_view kCrashSignals = "SIGABRT SIGBUS SIGFPE SIGILL SIGSEGV SIGSYS";
constexpr int kMostCrashStops = 16;

/// LLDB's commands until the program has ended. It stops as well at a SIGTRAP that the program sends itself,
/// and never gives it to the program. In one line: between two, LLDB ends at a crash.
std::string lldb_go_on() {
  return fmt::format(
      "script [lldb.debugger.HandleCommand('process handle --stop false {}' if n == {} else "
      "'process continue') for n in range(1000) "
      "if lldb.debugger.GetSelectedTarget().process.state == lldb.eStateStopped]",
      kCrashSignals, kMostCrashStops);
}

/// One word of GDB's command line, in which a backslash takes every meaning from what follows it.
std::string in_gdb(const std::string& path) {
  std::string word;
  for (const char c : path) {
    if (std::string_view(" \t\\'\"").find(c) != std::string_view::npos) word += '\\';
    word += c;
  }
  return word;
}

std::string in_python(const std::string& text) {
  return "'" + replace_all(replace_all(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string orders_of_history(const std::string& history) {
  return fmt::format("refhist set autosave {}\nrefhist set at-crash scan\n", quoted_word(history));
}

/// LLDB's command for signals that are the program's own business.
std::string pass_all_signals() {
  std::string line = "process handle --stop false --notify false --pass true";
  for (int signal = 1; signal < SIGSYS + 1; ++signal) {
    const char* name = sigabbrev_np(signal);
    if (name != nullptr && signal != SIGKILL && signal != SIGSTOP) line += fmt::format(" SIG{}", name);
  }
  return fmt::format("{}\nprocess handle --stop true --notify false --pass true {}\n", line, kCrashSignals);
}
}  // namespace

DebuggerScript::DebuggerScript(const RunOptions& options, const OwnFiles& files, std::string pipe)
    : options_(options),
      choice_(choose_debugger(options.debugger, files)),
      shell_(files.shell),
      pipe_(std::move(pipe)) {}

std::string DebuggerScript::orders(const std::string& history) const {
  return orders_of_history(history) + orders_of_all();
}

std::string DebuggerScript::orders_of_all() const {
  std::string text;
  for (const std::string& setting : options_.settings) text += fmt::format("refhist set {}\n", setting);
  for (const std::string& words : options_.tracked) text += fmt::format("refhist track {}\n", words);
  for (const std::string& words : options_.followed) text += fmt::format("refhist follow {}\n", words);
  return text;
}

std::string DebuggerScript::text(const std::string& program, const std::string& history) const {
  return choice_.name == "gdb" ? gdb_text(program, orders(history)) : lldb_text(orders(history));
}

std::string DebuggerScript::gdb_begin() const {
  return fmt::format(
      "set pagination off\nset confirm off\nset width 0\nset debuginfod enabled off\n"
      "set startup-with-shell on\n{}source {}\n"
      "handle all nostop noprint pass\nhandle SIGINT nostop noprint pass\n",
      options_.aslr ? "set disable-randomization off\n" : "", choice_.extension);
}

std::string DebuggerScript::gdb_text(const std::string& program, const std::string& orders) const {
  const std::string run =
      follows_children()
          ? fmt::format("python from refhist_gdb import children\npython children.follow({}, 'run')\n",
                        in_python(pipe_))
          : "python from refhist_gdb import crash_stops\npython crash_stops.run()\n";
  return fmt::format("{}file {}\n{}{}", gdb_begin(), in_gdb(program), orders, run);
}

// Told before there is a process, `track` waits for functions that the child's next program may have.
std::string DebuggerScript::child_text(const WaitingChild& child, const std::string& history) const {
  return gdb_begin() + orders_of_all() + born_text(child, history);
}

std::string DebuggerScript::born_text(const WaitingChild& child, const std::string& history) const {
  return fmt::format(
      "{0}python from refhist_gdb import children\npython children.attach({1}, {2}, {3:#x}, '{4}')\n"
      "python children.follow({1}, 'continue')\n",
      orders_of_history(history), in_python(pipe_), child.pid, child.pc, child.code);
}

// A fork has none of the threads that GDB reads symbols with, and would wait for them.
std::string DebuggerScript::nursery_text(const std::string& pipe) const {
  return fmt::format(
      "maintenance set worker-threads 0\n{}{}python from refhist_gdb import children, nursery\n"
      "python nursery.serve({}, {})\n",
      gdb_begin(), orders_of_all(), in_python(pipe), in_python(pipe_));
}

// LLDB knows no shell on Linux: it starts what becomes the program, and stops where that begins.
std::string DebuggerScript::lldb_text(const std::string& orders) const {
  const std::string signals = pass_all_signals();
  const bool before_launch = choice_.lldb_version >= 15;  // older ones need a process for that
  // Older ones have no such setting, and fetch nothing by themselves.
  const char* const fetch_nothing =
      choice_.lldb_version >= 19 ? "settings set symbols.auto-download off\n" : "";
  return fmt::format(
      "settings set auto-confirm true\nsettings set target.process.stop-on-exec true\n"
      "{}{}plugin load \"{}\"\ntarget create \"{}\"\n{}process launch\n{}"
      "settings set target.process.stop-on-exec false\n{}{}\nrefhist status\nquit\n",
      fetch_nothing, options_.aslr ? "settings set target.disable-aslr false\n" : "", choice_.extension,
      shell_, before_launch ? signals : "", before_launch ? "" : signals, orders, lldb_go_on());
}

std::string DebuggerScript::child_log(long child, const std::string& otherwise) const {
  return options_.log.empty() ? otherwise : fmt::format("{}.{}", options_.log, child);
}

// The core reads debug information by itself, and keeps it. GDB would read all of the program's and of its
// libraries' once more for each child, which takes longer than most children live.
std::vector<std::string> DebuggerScript::child_command(const std::string& script) const {
  std::vector<std::string> words = command(script);
  if (choice_.name == "gdb") words.insert(words.begin() + 1, "--readnever");
  return words;
}

std::vector<std::string> DebuggerScript::command(const std::string& script) const {
  if (choice_.name == "gdb") return {choice_.path, "-nx", "-q", "-batch", "-x", script};
  // LLDB itself puts the name of -s between quotes that a quote in it ends.
  if (script.find('\'') != std::string::npos)
    return {choice_.path,
            "--no-lldbinit",
            "--no-use-colors",
            "-b",
            "-o",
            "command source -s 0 " + quoted_word(script)};
  return {choice_.path, "--no-lldbinit", "--no-use-colors", "-b", "-s", script};
}

std::vector<std::string> DebuggerScript::environment(const std::string& socket) const {
  constexpr std::array<std::string_view, 8> kLeftOut = {
      "LD_PRELOAD=", "LD_LIBRARY_PATH=", "LD_AUDIT=", "SHELL=",
      "PYTHONHOME=", "PYTHONPATH=",      "TERM=",     "DEBUGINFOD_URLS="};
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool left_out = std::any_of(kLeftOut.begin(), kLeftOut.end(),
                                      [&](std::string_view name) { return text.starts_with(name); });
    if (!left_out) environment.emplace_back(text);
  }
  environment.push_back(fmt::format("SHELL={}", shell_));
  if (!socket.empty()) environment.push_back(fmt::format("{}={}", kLaunchSocket, socket));
  if (choice_.name == "lldb") {
    const std::string modules = python_modules_of(choice_.path);
    if (!modules.empty()) environment.push_back("PYTHONPATH=" + modules);
  }
  environment.emplace_back("TERM=dumb");
  return environment;
}

}  // namespace refhist
