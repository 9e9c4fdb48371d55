#include "session/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "session/hit_handler.h"
#include "session/session_state.h"
#include "session/tracker.h"

namespace refhist {

class Session::Impl {
 public:
  explicit Impl(SessionOptions options) { state_.families_folder = std::move(options.families_folder); }

  CommandResult execute(DebuggerPort& port, std::string_view line);
  bool hit(DebuggerPort& port, long tid, Address pc);
  void notify(DebuggerPort& port, Notice notice, std::int64_t detail);

  mutable std::recursive_mutex mutex_;  // a port may ask back (place_breakpoint) on the same thread
  SessionState state_;
  Tracker tracker_{state_};
  HitHandler hits_{state_, tracker_};

 private:
  void run_command(DebuggerPort& port, std::string_view line, CommandResult& result);
  void begin_process(DebuggerPort& port);
  void end_process(ProcessEnd end);
};

void Session::Impl::run_command(DebuggerPort& port, std::string_view line, CommandResult& result) {
  std::string_view rest = trim(line);
  const std::size_t space = rest.find_first_of(" \t");
  const Command* command = find_command(rest.substr(0, space));
  if (command == nullptr) {
    command = rest.empty() ? find_command("help") : find_command("history");
  } else {
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space);
  }
  const Arguments arguments(split_words(rest), command->options, command->verb);
  CommandContext context{state_, tracker_, port, arguments, {}, -1};
  command->run(context);
  result.text = std::move(context.text);
  result.quit_status = context.quit_status;
}

CommandResult Session::Impl::execute(DebuggerPort& port, std::string_view line) {
  CommandResult result;
  try {
    const std::lock_guard lock(mutex_);
    run_command(port, line, result);
  } catch (const std::exception& error) {
    result.ok = false;
    result.text = error.what();
  }
  return result;
}

bool Session::Impl::hit(DebuggerPort& port, long tid, Address pc) {
  const std::lock_guard lock(mutex_);
  try {
    if (!state_.alive) begin_process(port);
    return hits_.handle(port, tid, pc);
  } catch (const std::exception& error) {
    // The user's program goes on; what we failed to record is said in every report.
    ++state_.lost_hits;
    if (state_.lost_hits == 1) state_.warnings.push_back(fmt::format("an event was lost: {}", error.what()));
    return false;
  }
}

void Session::Impl::begin_process(DebuggerPort& port) {
  if (!state_.keep_history) {
    state_.history.clear();
    state_.warnings.clear();
    state_.lost_hits = 0;
    state_.recorder.restart_clock();
  }
  state_.end = ProcessEnd{};
  state_.scan = ReachScan{};
  ++state_.runs;
  for (TrackedFamily& family : state_.families) {
    family.traits.blind = false;
    family.null_puts = family.unborn_calls = 0;
  }
  tracker_.process_started(port);
}

void Session::Impl::end_process(ProcessEnd end) {
  if (!state_.alive) return;
  state_.end = end;
  tracker_.process_gone();
}

void Session::Impl::notify(DebuggerPort& port, Notice notice, std::int64_t detail) {
  const std::lock_guard lock(mutex_);
  try {
    switch (notice) {
      case Notice::started:
      case Notice::modules:
        if (state_.alive && port.process().pid != state_.process.pid) {
          if (notice == Notice::modules) {
            tracker_.follow_fork(port);
          } else {
            end_process(ProcessEnd{true, false, true, 0});
          }
        }
        if (state_.families.empty() && state_.rules.all().empty()) return;
        if (state_.alive) {
          tracker_.modules_changed(port);
        } else {
          begin_process(port);
        }
        return;
      case Notice::stopped:
        if (state_.alive) hits_.judge_stop(port, static_cast<int>(detail));
        return;
      case Notice::exited:
        return end_process(ProcessEnd{true, false, false, static_cast<int>(detail)});
      case Notice::signalled:
        return end_process(ProcessEnd{true, true, false, static_cast<int>(detail)});
      case Notice::detached:
        return end_process(ProcessEnd{true, false, true, static_cast<int>(detail)});
      case Notice::executed:
        end_process(ProcessEnd{true, false, false, 0});
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

std::string Session::stop_reason() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->hits_.stop_reason();
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
  } else {
    if (command == nullptr) command = find_command("history");
    for (const OptionSpec& option : command->options) candidates.push_back(option.name);
    if (verb == "track") {
      for (std::string& name : impl_->state_.shipped().names()) candidates.push_back(std::move(name));
    }
    for (const TrackedFamily& family : impl_->state_.families) {
      if (verb != "track") candidates.push_back(family.family.name);
    }
  }
  std::erase_if(candidates, [&](const std::string& candidate) { return !candidate.starts_with(word); });
  return candidates;
}

bool Session::tracking() const {
  const std::lock_guard lock(impl_->mutex_);
  return !impl_->state_.families.empty() || !impl_->state_.rules.all().empty();
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

}  // namespace refhist
