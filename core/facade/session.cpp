#include "facade/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/error.h"
#include "base/interruption.h"
#include "base/printable.h"
#include "base/process_file.h"
#include "base/task_status.h"
#include "base/text.h"
#include "commands/command.h"
#include "session/counter_watches.h"
#include "session/crash_cause.h"
#include "session/history_folder.h"
#include "session/hit_handler.h"
#include "session/live_replay.h"
#include "session/long_work.h"
#include "session/program_identity.h"
#include "session/reach_scans.h"
#include "session/session_state.h"
#include "session/tracker.h"

namespace refhist {

namespace {
constexpr const char* kStartedAgain = "refhist: the guest was started again: a new history begins\n";

/// The program may not live on after a stop at this signal.
bool is_crash(int signal) {
  constexpr std::array<int, 6> kCrashes = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
  return std::find(kCrashes.begin(), kCrashes.end(), signal) != kCrashes.end();
}

/// Nobody handles or ignores it.
bool ends_process(long pid, long tid, int signal) {
  const auto has = [&](std::string_view field) {
    const std::uint64_t set = std::strtoull(task_status(pid, field, tid).c_str(), nullptr, 16);
    return (set >> (signal - 1) & 1U) != 0;
  };
  return !has("SigCgt") && !has("SigIgn");
}

bool is_bad_access(int signal) { return signal == SIGSEGV || signal == SIGBUS; }
}  // namespace

class Session::Impl {
 public:
  explicit Impl(SessionOptions options) {
    state_.families_folder = std::move(options.families_folder);
    state_.recorder.set_catch_up([this] { state_.agent.replay(); });
    state_.recorder.second_owners().set_deletes([this](ObjectId id) { return state_.managed.deletes(id); });
  }

  CommandResult execute(DebuggerPort& port, std::string_view line);
  bool hit(DebuggerPort& port, long tid, Address pc);
  bool raw_exit(DebuggerPort& port, long tid, bool whole_process);
  void changed(DebuggerPort& port, long tid, Address address);
  void notify(DebuggerPort& port, Notice notice, std::int64_t detail);

  mutable std::recursive_mutex mutex_;  // a port may ask back (place_breakpoint) on the same thread
  SessionState state_;
  Tracker tracker_{state_};
  HitHandler hits_{state_, tracker_};
  CounterWatches watches_{state_};
  HistoryFolder folder_{state_};
  LiveReplay live_{mutex_, [this] { return replay_live(); }};

 private:
  /// Long loops in the core tell the user what they do and hear Ctrl-C as long as the result lives.
  Interruption listen(DebuggerPort& port, LongWork::For purpose) {
    return Interruption([work = LongWork(port, state_.telling(), purpose)](
                            const Interruption::Text& doing) mutable { return work.go_on(doing); });
  }
  void run_command(DebuggerPort& port, std::string_view line, CommandResult& result);
  void fall_back_to_breakpoints(DebuggerPort& port);
  void begin_process(DebuggerPort& port);
  void end_process(DebuggerPort& port, ProcessEnd end);
  /// A kernel that was started again is another one: nothing of the history is true of it.
  void look_at_guest(DebuggerPort& port);
  /// The user sees the program stopped in the agent, which has looked at a counter that is not there.
  void tell_faults(DebuggerPort& port);
  /// Saves the history where the user wants that to be done by itself. `%p` in the name is the process's
  /// number.
  void look_at_crash(DebuggerPort& port, int signal);
  void autosave(DebuggerPort& port);
  bool replay_live();
  /// Once there is an agent, its records are worked off while the program runs.
  void look_live() {
    if (state_.agent.attached()) live_.begin();
  }
};

// On the thread of LiveReplay, with the mutex held.
bool Session::Impl::replay_live() {
  try {
    const bool any = state_.agent.replay_settled();
    folder_.fold_when_due();
    return any;
  } catch (const std::exception& error) {
    state_.lose_hit();
    state_.warnings.push_back(fmt::format("events were lost: {}", error.what()));
    return false;
  }
}

namespace {
/// The program's own names come before abbreviations of ours.
bool is_expression(DebuggerPort& port, const std::string& word) {
  try {
    if (!word.empty()) port.evaluate(word);
    return true;
  } catch (const Error&) {
    return false;
  }
}
}  // namespace

namespace {
/// Events or rules are gone after it.
bool ends_following(const Command& command, const Arguments& arguments) {
  const std::string& verb = command.verb;
  const bool changes_rule = !arguments.words().empty() &&
                            (arguments.words().front() == "delete" || arguments.words().front() == "disable");
  return verb == "reset" || verb == "stop" || verb == "untrack" || verb == "open" ||
         (verb == "follow" && changes_rule);
}
}  // namespace

void Session::Impl::run_command(DebuggerPort& port, std::string_view line, CommandResult& result) {
  std::string_view rest = trim(line);
  const std::size_t space = rest.find_first_of(" \t");
  const std::string word(rest.substr(0, space));
  const Command* command = find_command(word);
  if (command == nullptr && !is_expression(port, word)) command = find_by_prefix(word);
  if (command == nullptr) {
    command = rest.empty() ? find_command("help") : find_command("history");
  } else {
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space);
  }
  const Arguments arguments(split_words(rest), command->options, command->verb);
  state_.answers_in_json = arguments.has("--json");
  const Interruption listening = listen(port, LongWork::For::command);
  CommandContext context{state_, tracker_, port, arguments, watches_, {}, -1};
  if (ends_following(*command, arguments))
    hits_.stop_following(port, fmt::format("refhist {} was entered meanwhile", command->verb));
  command->run(context);
  result.text = std::move(context.text);
  result.quit_status = context.quit_status;
}

CommandResult Session::Impl::execute(DebuggerPort& port, std::string_view line) {
  CommandResult result;
  try {
    const std::lock_guard lock(mutex_);
    state_.agent.replay();
    folder_.fold_when_due();
    look_at_guest(port);
    run_command(port, line, result);
    state_.agent.apply_options();
    folder_.apply_options();
    look_live();
  } catch (const std::bad_alloc&) {
    result.ok = false;
    result.text = state_.opened || line.starts_with("open")
                      ? "this takes more memory than a file of this size should need: ask for less, or the "
                        "file is damaged"
                      : "there is not enough memory for this";
  } catch (const std::exception& error) {
    result.ok = false;
    result.text = error.what();
  }
  state_.answers_in_json = false;
  // What others have named (a program, a file) must mean nothing to the terminal that shows it.
  result.text = printable(result.text);
  return result;
}

bool Session::Impl::hit(DebuggerPort& port, long tid, Address pc) {
  const std::lock_guard lock(mutex_);
  const Interruption listening = listen(port, LongWork::For::program);
  try {
    if (!state_.alive) begin_process(port);
    const bool stop = hits_.handle(port, tid, pc);
    folder_.fold_when_due();
    look_live();
    return stop;
  } catch (const std::exception& error) {
    // The user's program goes on; what we failed to record is said in every report.
    state_.lose_hit();
    if (state_.lost_hits == 1) state_.warnings.push_back(fmt::format("an event was lost: {}", error.what()));
    return false;
  }
}

void Session::Impl::changed(DebuggerPort& port, long tid, Address address) {
  const std::lock_guard lock(mutex_);
  try {
    state_.agent.replay();
    if (!hits_.changed(port, tid, address)) watches_.changed(port, tid, address);
  } catch (const std::exception& error) {
    state_.lose_hit();
  }
}

bool Session::Impl::raw_exit(DebuggerPort& port, long tid, bool whole_process) {
  const std::lock_guard lock(mutex_);
  try {
    state_.agent.replay();
    return state_.alive && hits_.handle_raw_exit(port, tid, whole_process);
  } catch (const std::exception& error) {
    state_.warnings.push_back(fmt::format("the end of the program was not checked: {}", error.what()));
    return false;
  }
}

void Session::Impl::fall_back_to_breakpoints(DebuggerPort& port) {
  tracker_.respect_breakpoints(port);
  // Where the user stands at the beginning of a patched function, the next steps must show it and not our
  // code.
  for (const Tracker::Begun& call : tracker_.fall_back_to_breakpoints(port, hits_.calls()))
    hits_.take_begun(port, call);
}

void Session::Impl::begin_process(DebuggerPort& port) {
  if (!state_.keep_history || state_.opened) {
    state_.history.clear();
    state_.agent.forget_history();
    state_.warnings.clear();
    for (StopRule& rule : state_.rules.all()) rule.undecided = 0;
    state_.lost_hits = state_.saved_events = state_.forks = state_.followed_children = 0;
    state_.recorder.restart_clock();
    close_history(state_);
  }
  state_.end = ProcessEnd{};
  state_.scan = ReachScan{};
  ++state_.runs;
  for (TrackedFamily& family : state_.families) {
    family.traits.blind = false;
    family.traits.copies_unknown = false;
    family.null_puts = family.unborn_calls = 0;
  }
  tracker_.process_started(port);
}

void Session::Impl::end_process(DebuggerPort& port, ProcessEnd end) {
  if (!state_.alive) return;
  if (end.by_signal && is_bad_access(end.status)) state_.agent.replay_faults(true);
  state_.end = end;
  settle_scan_at_exit(state_);
  // One that is let go of with such a signal on its way would stand still for ever.
  if (end.detached && state_.halted) signal_process(state_.halted->number(), SIGCONT);
  state_.halted.reset();
  watches_.forget();
  hits_.tell_missed(port);
  hits_.process_gone(port);
  tracker_.process_gone();
  autosave(port);
}

void Session::Impl::look_at_guest(DebuggerPort& port) {
  if (!state_.alive || !state_.kernel || port.process().state != ProcessState::stopped) return;
  if (!state_.kernel->started_again(port)) return;
  port.print(kStartedAgain);
  state_.breakpoints.disarm_all(port);
  end_process(port, ProcessEnd{true, false, false, 0, true});
  begin_process(port);
}

void Session::Impl::tell_faults(DebuggerPort& port) {
  for (const auto& [site, object] : state_.agent.replay_faults(false)) {
    port.print(
        fmt::format("refhist: {} was called on {:#x}, which is not mapped: an error of the program, hit "
                    "where refhist reads the counter\n",
                    state_.sites.get(site).function, object));
  }
}

void Session::Impl::look_at_crash(DebuggerPort& port, int signal) {
  const long tid = port.selected_thread();
  const std::string cause = CrashCause(state_, port).look(tid, signal);
  if (!cause.empty()) port.print(cause);
  hits_.judge_stop(port, signal);
  if (!state_.scan_at_crash) return autosave(port);
  if (ends_process(state_.process.pid, tid, signal)) scan_if_alive(state_, port);
}

void Session::Impl::autosave(DebuggerPort& port) {
  if (state_.autosave.empty() || state_.opened) return;
  const std::string path = replace_all(state_.autosave, "%p", std::to_string(state_.program.pid));
  try {
    port.print("refhist: " + save_history(state_, port, path));
  } catch (const std::exception& error) {
    port.print(fmt::format("refhist: the history was not saved: {}\n", error.what()));
  }
}

void Session::Impl::notify(DebuggerPort& port, Notice notice, std::int64_t detail) {
  const std::lock_guard lock(mutex_);
  const Interruption listening = listen(port, LongWork::For::program);
  try {
    // Not at the others: of a process that the debugger has let go of, not everything counts.
    const bool ran = notice == Notice::stopped || notice == Notice::exited || notice == Notice::signalled ||
                     notice == Notice::executed;
    if (ran) state_.agent.replay();
    folder_.fold_when_due();
    switch (notice) {
      case Notice::started:
      case Notice::modules:
        if (state_.alive && port.process().pid != state_.process.pid) {
          if (notice == Notice::modules) {
            tracker_.follow_fork(port);
          } else {
            end_process(port, ProcessEnd{true, false, true, 0});
          }
        }
        if (!state_.tracks_any() && state_.rules.all().empty()) return;
        if (state_.alive) {
          tracker_.modules_changed(port);
        } else {
          begin_process(port);
        }
        look_live();
        return;
      case Notice::stopped:
        if (!state_.alive) return;
        look_at_guest(port);
        state_.agent.note_stopped();
        hits_.settle_stop();
        watches_.settle(port);
        if (is_bad_access(static_cast<int>(detail))) tell_faults(port);
        fall_back_to_breakpoints(port);
        if (is_crash(static_cast<int>(detail))) return look_at_crash(port, static_cast<int>(detail));
        return hits_.judge_stop(port, static_cast<int>(detail));
      case Notice::leaving:
        state_.agent.note_stopped();
        state_.agent.disarm_all(port);
        return;
      case Notice::breakpoints:
        if (state_.alive) tracker_.respect_breakpoints(port);
        return;
      case Notice::exited:
        return end_process(port, ProcessEnd{true, false, false, static_cast<int>(detail)});
      case Notice::signalled:
        return end_process(port, ProcessEnd{true, true, false, static_cast<int>(detail)});
      case Notice::detached:
        if (std::string warning = state_.agent.leave_detached(state_.process.pid); !warning.empty())
          state_.warnings.push_back(std::move(warning));
        return end_process(port, ProcessEnd{true, false, true, static_cast<int>(detail)});
      case Notice::quitting:
        if (state_.alive || state_.history.event_count() != state_.saved_events) autosave(port);
        state_.autosave.clear();  // the process may be killed now, which tells nothing new
        return;
      case Notice::handed_over:
        ++state_.followed_children;
        return;
      case Notice::executed:
        if (state_.kernel) port.print(kStartedAgain);
        end_process(port, ProcessEnd{true, false, false, 0, true});
        return begin_process(port);
    }
  } catch (const std::exception& error) {
    state_.warnings.emplace_back(error.what());
  }
}

Session::Session(SessionOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Session::~Session() = default;

CommandResult Session::execute(DebuggerPort& port, std::string_view line) {
  return impl_->execute(port, line);
}

bool Session::hit(DebuggerPort& port, long tid, Address pc) { return impl_->hit(port, tid, pc); }

void Session::changed(DebuggerPort& port, long tid, Address address) { impl_->changed(port, tid, address); }

bool Session::raw_exit(DebuggerPort& port, long tid, bool whole_process) {
  return impl_->raw_exit(port, tid, whole_process);
}

std::string Session::stop_reason() const {
  const std::lock_guard lock(impl_->mutex_);
  return printable(impl_->hits_.stop_reason());
}

void Session::note(const std::string& line) {
  const std::lock_guard lock(impl_->mutex_);
  std::vector<std::string>& said = impl_->state_.warnings;
  if (std::find(said.begin(), said.end(), line) == said.end()) said.push_back(line);
}

void Session::notify(DebuggerPort& port, Notice notice, std::int64_t detail) {
  impl_->notify(port, notice, detail);
}

std::vector<std::string> Session::verbs() const { return verb_names(); }

std::string Session::help(std::string_view verb) const {
  const Command* command = find_command(verb);
  return command == nullptr ? help_overview() : help_text(*command);
}

std::vector<std::string> Session::complete(std::string_view line) const {
  const std::lock_guard lock(impl_->mutex_);
  const std::size_t last_space = line.find_last_of(" \t");
  const std::string_view word = last_space == std::string_view::npos ? line : line.substr(last_space + 1);
  std::vector<std::string> candidates;
  const std::string_view verb = line.substr(0, line.find_first_of(" \t"));
  const Command* command = last_space == std::string_view::npos ? nullptr : find_command(verb);
  if (last_space == std::string_view::npos) {
    candidates = verbs();
  } else if (verb == "help") {
    candidates = verbs();
  } else if (verb == "set" || verb == "show") {
    std::vector<std::string> before;
    for (std::string& said : split(line.substr(verb.size(), last_space - verb.size()), ' '))
      if (!said.empty()) before.push_back(std::move(said));
    if (verb == "set" || before.empty()) candidates = setting_words(before);
  } else {
    if (command == nullptr) command = find_command("history");
    for (const OptionSpec& option : command->options) candidates.push_back(option.name);
    if (verb == "track") {
      for (std::string& name : impl_->state_.shipped().names()) candidates.push_back(std::move(name));
    }
    if (verb != "track") {
      for (std::string& name : impl_->state_.tracked_names()) candidates.push_back(std::move(name));
    }
  }
  std::erase_if(candidates, [&](const std::string& candidate) { return !candidate.starts_with(word); });
  return candidates;
}

bool Session::tracking() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->state_.tracks_any() || !impl_->state_.rules.all().empty();
}

std::int64_t Session::count_of(Address address) const {
  const std::lock_guard lock(impl_->mutex_);
  const History& history = impl_->state_.history;
  for (const ObjectId id : history.all_at(address)) {
    const Object& object = history.object(id);
    if (object.state == ObjectState::live && object.base_known) return object.ledger;
  }
  return -1;
}

std::vector<CodeBytes> Session::covered_code(Address begin, Address end) const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->state_.agent.covered_code(begin, end);
}

bool Session::put_own_code(Address address, std::span<std::uint8_t> bytes) const {
  bool changed = false;
  for (const CodeBytes& code : covered_code(address, address + bytes.size()))
    changed |= put_wanted(code, address, bytes);
  return changed;
}

}  // namespace refhist
