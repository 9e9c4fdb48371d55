#include "process_observer.h"

#include <unistd.h>

#include <chrono>
#include <climits>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/task_status.h"
#include "exit_packet.h"
#include "file_path.h"
#include "process_access.h"

namespace refhist {

namespace {
bool is_alive(lldb::StateType state) {
  switch (state) {
    case lldb::eStateStopped:
    case lldb::eStateSuspended:
    case lldb::eStateCrashed:
    case lldb::eStateRunning:
    case lldb::eStateStepping:
    case lldb::eStateAttaching:
    case lldb::eStateLaunching:
      return true;
    default:
      return false;
  }
}

bool is_stopped(lldb::StateType state) {
  return state == lldb::eStateStopped || state == lldb::eStateSuspended || state == lldb::eStateCrashed;
}

/// The file that the kernel says the process runs; empty when there is no such process on this machine.
std::string running_file(lldb::SBProcess& process) {
  char path[PATH_MAX];
  const std::string link = "/proc/" + std::to_string(process.GetProcessID()) + "/exe";
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

/// A number may mean another process on this machine: then its file is another one too.
bool known_file(const std::string& file, const std::string& executable) {
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::error_code error;
  const std::string real = std::filesystem::canonical(executable, error).string();
  return !file.empty() && (file == real || name(file) == name(executable));
}

// A program that has not run yet: it stands where the kernel has put it.
bool at_first_instruction(lldb::SBTarget& target, lldb::SBProcess& process) {
  lldb::SBFrame frame = process.GetThreadAtIndex(0).GetFrameAtIndex(0);
  lldb::SBAddress entry = frame.GetModule().GetObjectFileEntryPointAddress();
  return entry.IsValid() && entry.GetLoadAddress(target) == frame.GetPC();
}
}  // namespace

bool ProcessObserver::knows(lldb::SBProcess& process) const {
  return known_ && process.GetUniqueID() == process_id_;
}

bool ProcessObserver::replaced(lldb::SBProcess& process) const {
  if (running_file_.empty()) return false;
  // Once the main thread has ended, the kernel names no file.
  const std::string file = running_file(process);
  return !file.empty() && file != running_file_;
}

Observation ProcessObserver::end_of_unseen() {
  // LLDB kills a process that it replaces. One that ended before, between two looks, has taken its exit
  // status with it: -1.
  if (kill_expected_) return {Notice::signalled, SIGKILL};
  return {Notice::exited, -1};
}

Observation ProcessObserver::end_of(lldb::SBTarget& target, lldb::SBProcess& process) {
  if (process.GetState() != lldb::eStateExited) return {Notice::detached, 0};
  // The status of a process that died by a signal is the bare signal number in LLDB. Where its server has not
  // told, it is taken for one when the user was shown that very signal at the last stop, or has had the
  // process killed.
  const int status = process.GetExitStatus();
  if (const auto by_signal = status > 0 ? ended_by_signal(target) : std::nullopt)
    return {*by_signal ? Notice::signalled : Notice::exited, status};
  const char* description = process.GetExitDescription();
  const bool told = description != nullptr && *description != '\0';
  const bool by_signal =
      (last_signal_ != 0 && status == last_signal_) || (status == SIGKILL && (told || kill_expected_));
  return {by_signal ? Notice::signalled : Notice::exited, status};
}

Observation ProcessObserver::stop_of(lldb::SBProcess& process) {
  last_signal_ = 0;
  bool replaced = false;
  const std::uint32_t count = process.GetNumThreads();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    const lldb::StopReason reason = thread.GetStopReason();
    if (reason == lldb::eStopReasonExec) replaced = true;
    if (reason == lldb::eStopReasonSignal && last_signal_ == 0) {
      last_signal_ = static_cast<int>(thread.GetStopReasonDataAtIndex(0));
    }
  }
  if (replaced) return {Notice::executed, 0};
  return {Notice::stopped, last_signal_};
}

Observation ProcessObserver::pass_entry() {
  // No program passes its entry twice: it was replaced by itself. Passed for the first time, the libraries of
  // a program that was stopped before are mapped now.
  return {entered_ ? Notice::executed : Notice::modules, 0};
}

void ProcessObserver::look_at_stop(lldb::SBTarget& target, lldb::SBProcess& process, Occasion occasion,
                                   std::vector<Observation>& seen) {
  const std::string executable = path_of(target.GetExecutable());
  const std::uint32_t stop_id = process.GetStopID();
  if (!known_) {
    seen.push_back({Notice::started, 0});
    known_ = true;
    process_id_ = process.GetUniqueID();
    stop_id_ = 0;
    last_signal_ = 0;
  } else if (executable != executable_ || replaced(process)) {
    seen.push_back({Notice::executed, 0});
  } else if (occasion == Occasion::entry) {
    seen.push_back(pass_entry());
  } else if (occasion == Occasion::command && stop_id != stop_id_) {
    seen.push_back(stop_of(process));
  }
  const Notice last = seen.empty() ? Notice::stopped : seen.back().notice;
  const bool begins = last == Notice::started || last == Notice::executed;
  if (occasion == Occasion::entry) {
    entered_ = true;
  } else if (begins) {
    entered_ = !at_first_instruction(target, process);
  }
  executable_ = executable;
  if (occasion == Occasion::command) stop_id_ = stop_id;
  const std::string file = running_file(process);
  if (file.empty()) return;
  const bool here = known_file(file, executable) || (begins && !running_file_.empty());
  running_file_ = here ? file : std::string();
}

lldb::StateType ProcessObserver::state_of(lldb::SBProcess& process) {
  // LLDB's process kill and detach return before its event thread has heard of the end: until then the
  // process passes for stopped.
  constexpr int kLongestWait = 1000;  // ms
  lldb::StateType state = process.GetState();
  const long pid = static_cast<long>(process.GetProcessID());
  if (!is_stopped(state) || running_file_.empty() || !knows(process) || is_traced(pid)) return state;
  for (int waited = 0; is_stopped(state) && waited < kLongestWait; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state = process.GetState();
  }
  if (is_stopped(state)) running_file_.clear();
  return state;
}

std::vector<Observation> ProcessObserver::look(lldb::SBTarget& target, Occasion occasion) {
  std::vector<Observation> seen;
  lldb::SBProcess process = target.GetProcess();
  const lldb::StateType state = process.IsValid() ? state_of(process) : lldb::eStateInvalid;
  if (known_ && (!process.IsValid() || process.GetUniqueID() != process_id_)) {
    seen.push_back(end_of_unseen());
    known_ = false;
  } else if (known_ && !is_alive(state)) {
    seen.push_back(end_of(target, process));
    known_ = false;
  }
  if (!known_) kill_expected_ = false;
  if (process.IsValid() && is_stopped(state) && !has_core_file(process))
    look_at_stop(target, process, occasion, seen);
  return seen;
}

}  // namespace refhist
