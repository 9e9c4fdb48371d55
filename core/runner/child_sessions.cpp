#include "runner/child_sessions.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/process_file.h"
#include "base/replaced_file.h"

namespace refhist {

namespace {

constexpr std::uint64_t kFreeMemory = 300ULL << 20;  // bytes that there must be for one more debugger

void give_up(ChildSession& session, const std::string& why) {
  session.cut_short = fmt::format("it was not followed: {}", why);
  if (!put_code_back(session.child, session.process)) signal_process(session.process, SIGKILL);
}

/// Bytes that may be taken before anything has to be given back.
std::uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) return std::strtoull(line.c_str() + 13, nullptr, 10) << 10;
  }
  return UINT64_MAX;
}

}  // namespace

ChildSessions::ChildSessions(const DebuggerScript& script, std::string folder, std::string pipe)
    : script_(script), folder_(std::move(folder)), pipe_path_(std::move(pipe)) {
  // For writing, too: it never ends.
  if (mkfifo(pipe_path_.c_str(), 0600) == 0)
    pipe_ = open(pipe_path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (pipe_ < 0) fail("{}: {}", pipe_path_, std::strerror(errno));
  nursery_.emplace(script_, folder_);
}

ChildSessions::~ChildSessions() {
  for (const ChildSession& session : all_) {
    if (session.process >= 0) close(session.process);
  }
  close(pipe_);
}

void ChildSessions::add_files(std::vector<pollfd>& files) const {
  files.push_back({pipe_, POLLIN, 0});
  if (nursery_) files.push_back({nursery_->file(), POLLIN, 0});
  for (const ChildSession& session : all_) {
    if (session.debugger) files.push_back({session.debugger->file(), POLLIN, 0});
  }
}

void ChildSessions::serve() {
  std::erase_if(watches_, [](const auto& watch) { return watch->has_ended(); });
  std::vector<ChildSession*> ended;  // looked at first: what they have said is in the pipe then
  for (ChildSession& session : all_) {
    if (session.debugger && session.debugger->has_ended()) ended.push_back(&session);
  }
  std::array<char, 4096> part{};
  for (ssize_t size = read(pipe_, part.data(), part.size()); size > 0;
       size = read(pipe_, part.data(), part.size()))
    heard_.append(part.data(), static_cast<std::size_t>(size));
  for (std::size_t end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n')) {
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    hear(line);
  }
  look_at_nursery();
  for (ChildSession* session : ended) finish(*session);
}

void ChildSessions::look_at_nursery() {
  if (!nursery_ || !nursery_->has_ended()) return;
  nursery_.reset();
  for (ChildSession& session : all_) {
    if (session.ordered) start_debugger(session);
  }
}

void ChildSessions::hear(const std::string& line) {
  std::istringstream words(line);
  std::string what;
  WaitingChild child;
  words >> what;
  if (what == "child" || what == "vchild") {
    words >> child.parent >> child.pid >> std::hex >> child.pc >> child.code;
    if (what == "child") return begin(child);
    watches_.push_back(std::make_unique<ExecWatch>(child, pipe_path_));
    return;
  }
  if (what == "attached" || what == "ending" || what == "born" || what == "unborn")
    return hear_of_session(what, words);
  std::string why;
  words >> child.parent >> child.pid >> std::ws;
  std::getline(words, why);
  if (what == "refused") {
    ChildSession& session = all_.emplace_back();
    session.child = child;
    session.cut_short = why;
  } else {
    left_[why].push_back(child.pid);
  }
}

void ChildSessions::hear_of_session(const std::string& what, std::istringstream& words) {
  long pid = 0;
  pid_t debugger = 0;
  words >> pid;
  for (ChildSession& session : all_) {
    if (session.child.pid != pid || !session.runs()) continue;
    if (what == "attached") session.attached = true;
    if (what == "ending") session.let_go = true;
    if (what == "unborn") start_debugger(session);
    if (what == "born" && session.ordered && words >> debugger) {
      session.ordered = false;
      session.debugger.emplace(debugger);
    }
  }
}

std::vector<std::string> ChildSessions::notes() const {
  std::vector<std::string> lines;
  for (const auto& [why, pids] : left_) {
    lines.push_back(pids.size() == 1 ? fmt::format("process {} is not followed: {}", pids.front(), why)
                                     : fmt::format("{} processes are not followed: {}", pids.size(), why));
  }
  return lines;
}

std::size_t ChildSessions::running() const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [](const ChildSession& session) { return session.runs(); }));
}

void ChildSessions::begin(const WaitingChild& child) {
  ChildSession& session = all_.emplace_back();
  session.child = child;
  session.process = open_process(static_cast<pid_t>(child.pid));
  const std::string name = fmt::format("{}/child-{}", folder_, all_.size());
  session.history = name + ".rh";
  session.log = script_.child_log(child.pid, name + ".log");
  if (!ending_.empty()) {
    session.cut_short = ending_;
    return signal_process(session.process, SIGKILL);
  }
  session.script = name + ".txt";
  try {
    if (const std::uint64_t free = free_memory(); free < kFreeMemory)
      fail("{} debuggers are running, and only {} MiB of memory are free", running(), free >> 20);
    if (!nursery_) return start_debugger(session);
    replace_file(session.script, script_.born_text(child, session.history));
    nursery_->order(child.pid, session.script, session.log);
    session.ordered = true;
  } catch (const Error& error) {
    give_up(session, error.what());
  }
}

void ChildSessions::start_debugger(ChildSession& session) {
  session.ordered = false;
  try {
    replace_file(session.script, script_.child_text(session.child, session.history));
    session.debugger.emplace(script_.child_command(session.script), script_.environment({}),
                             StartedProcess::Files{.errors = session.log});
  } catch (const Error& error) {
    give_up(session, error.what());
  }
}

void ChildSessions::finish(ChildSession& session) {
  session.debugger.reset();
  if (session.let_go) return;
  if (session.attached) return signal_process(session.process, SIGKILL);  // of a debugger that died
  session.ended_waiting = process_has_ended(session.process);
  if (session.ended_waiting) return;
  const bool goes_on = put_code_back(session.child, session.process);
  if (!goes_on) signal_process(session.process, SIGKILL);
  if (session.cut_short.empty())
    session.cut_short = fmt::format("{} could not attach to it: {}", script_.debugger(),
                                    goes_on ? "it went on unrecorded" : "it was killed");
}

void ChildSessions::end_programs(const std::string& why) {
  ending_ = why;
  for (const auto& watch : watches_) watch->end_child();
  for (ChildSession& session : all_) {
    if (!session.runs()) continue;
    session.cut_short = why;
    signal_process(session.process, SIGKILL);
  }
}

void ChildSessions::kill_debuggers(const std::string& why) {
  for (ChildSession& session : all_) {
    if (!session.debugger) continue;
    session.cut_short += why;
    session.debugger->kill();
  }
}

}  // namespace refhist
