#include "runner/run_session.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace refhist {

namespace {

constexpr double kTimeToSave = 60;  // seconds that the debugger has after its program was ended
constexpr int kStepMilliseconds = 200;

volatile std::sig_atomic_t asked_to_end = 0;
void on_signal(int signal) { asked_to_end = signal; }

/// Ctrl-C and hang-up are for the program, which is in our process group; it may well go on. A wish that we
/// end is ours.
class Signals {
 public:
  Signals() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &before_[0]);
    sigaction(SIGQUIT, &ignore, &before_[1]);
    struct sigaction handle {};
    handle.sa_handler = on_signal;
    sigaction(SIGTERM, &handle, &before_[2]);
    sigaction(SIGHUP, &handle, &before_[3]);
  }
  ~Signals() {
    sigaction(SIGINT, &before_[0], nullptr);
    sigaction(SIGQUIT, &before_[1], nullptr);
    sigaction(SIGTERM, &before_[2], nullptr);
    sigaction(SIGHUP, &before_[3], nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  std::array<struct sigaction, 4> before_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string program_named(const std::string& name) {
  const std::string path = find_program(name);
  if (path.empty())
    throw UsageError(fmt::format("{}: there is no such program, or it is not executable", name));
  return path;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) fail("{}: {}", path, std::strerror(errno));
}

}  // namespace

RunSession::RunSession(const RunOptions& options, const OwnFiles& files, std::string folder)
    : options_(options),
      folder_(std::move(folder)),
      program_(program_named(options.program.front())),
      script_(options, files),
      server_(folder_, program_, options.program),
      history_(folder_ + "/history.rh"),
      log_(options.log.empty() ? folder_ + "/log.txt" : options.log) {}

void RunSession::run() {
  write_text(folder_ + "/script.txt", script_.text(runs_as(program_), history_));
  const Signals signals;
  start_debugger();
  wait_for_end();
  server_.kill_program();  // of a debugger that died
  if (!server_.why_not().empty()) why_cut_short_ = fmt::format("{}: {}", program_, server_.why_not());
}

void RunSession::start_debugger() {
  std::vector<std::string> command = script_.command(folder_ + "/script.txt");
  std::vector<std::string> environment = script_.environment(server_.path());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A process group of its own: what is typed is for the program. Signals as they are usual.
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const int failed = posix_spawn(&debugger_pid_, command.front().c_str(), &files, &attributes,
                                 pointers(command).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) fail("{} cannot be started: {}", command.front(), std::strerror(failed));
  debugger_file_ = static_cast<int>(syscall(SYS_pidfd_open, debugger_pid_, 0));
}

bool RunSession::wait_a_moment(int milliseconds) {
  std::array<pollfd, 2> files = {pollfd{debugger_file_, POLLIN, 0}, pollfd{server_.file(), POLLIN, 0}};
  poll(files.data(), files.size(), milliseconds);
  if ((files[1].revents & (POLLIN | POLLHUP)) != 0) server_.serve();
  return waitpid(debugger_pid_, nullptr, WNOHANG) == debugger_pid_;
}

void RunSession::wait_for_end() {
  const auto start = std::chrono::steady_clock::now();
  while (!wait_a_moment(kStepMilliseconds)) {
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    look_at_time();
  }
  if (debugger_file_ >= 0) close(debugger_file_);
}

void RunSession::look_at_time() {
  if (kill_at_) {
    if (seconds_ < *kill_at_) return;
    why_cut_short_ +=
        fmt::format("; {} did not save the history within {} s", script_.debugger(), kTimeToSave);
    kill(-debugger_pid_, SIGKILL);
    kill_at_ = seconds_ + kTimeToSave;
    return;
  }
  if (asked_to_end != 0)
    return end(fmt::format("refhist-run was ended by signal {}", static_cast<int>(asked_to_end)));
  if (options_.timeout_seconds && seconds_ > *options_.timeout_seconds)
    end(fmt::format("the program ran longer than {} s", *options_.timeout_seconds));
}

void RunSession::end(const std::string& why) {
  why_cut_short_ = why;
  kill_at_ = seconds_ + kTimeToSave;
  // The debugger sees the end of its program and saves what it has.
  if (server_.pid() != 0) return server_.kill_program();
  kill(-debugger_pid_, SIGKILL);
}

}  // namespace refhist
