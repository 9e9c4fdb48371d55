#include "runner/run_session.h"

#include <fmt/core.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "base/quarantine_size.h"
#include "base/replaced_file.h"

extern char** environ;

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
    // nohup
    if (before_[3].sa_handler == SIG_IGN) sigaction(SIGHUP, &before_[3], nullptr);
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

std::string program_named(const std::string& name) {
  const std::string path = find_program(name);
  if (path.empty())
    throw UsageError(fmt::format("{}: there is no such program, or it is not executable", name));
  return path;
}

bool takes_all_blocks(const RunOptions& options) {
  bool all = false;
  for (const std::string& setting : options.settings) {
    if (!setting.starts_with(kQuarantineSetting)) continue;
    const auto size = QuarantineSize::parse(setting.substr(kQuarantineSetting.size()));
    all = size && size->takes_all();
  }
  return all;
}

/// Of the program: what refhist-run has, and what quarantine needs.
std::vector<std::string> environment_for(const RunOptions& options) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  if (takes_all_blocks(options) && getenv(kPythonAllocator) == nullptr)
    environment.push_back(fmt::format("{}={}", kPythonAllocator, kPythonUsesMalloc));
  return environment;
}

}  // namespace

RunSession::RunSession(const RunOptions& options, const OwnFiles& files, const Inherited& inherited,
                       std::string folder)
    : options_(options),
      folder_(std::move(folder)),
      program_(program_named(options.program.front())),
      script_(options, files, folder_ + "/children"),
      server_(folder_, program_, options.program, environment_for(options), inherited),
      history_(folder_ + "/history.rh"),
      log_(options.log.empty() ? folder_ + "/log.txt" : options.log) {
  if (script_.follows_children()) children_.emplace(script_, folder_, folder_ + "/children");
}

void RunSession::run() {
  replace_file(script(), script_.text(runs_as(program_), history_));
  const Signals signals;
  debugger_.emplace(script_.command(script()), script_.environment(server_.path()),
                    StartedProcess::Files{.errors = log_});
  wait_for_end();
  if (!server_.why_not().empty()) why_cut_short_ = fmt::format("{}: {}", program_, server_.why_not());
}

void RunSession::wait_a_moment(int milliseconds) {
  std::vector<pollfd> files = {{server_.file(), POLLIN, 0}};
  if (!debugger_->has_ended()) files.push_back({debugger_->file(), POLLIN, 0});
  if (children_) children_->add_files(files);
  poll(files.data(), files.size(), milliseconds);
  if ((files[0].revents & (POLLIN | POLLHUP)) != 0) server_.serve();
  if (debugger_->has_ended()) server_.kill_program();  // of a debugger that died
}

bool RunSession::any_left() {
  const bool ended = debugger_->has_ended();
  if (children_) children_->serve();  // what it said before it ended
  return !ended || (children_ && children_->any_left());
}

void RunSession::wait_for_end() {
  const auto start = std::chrono::steady_clock::now();
  while (any_left()) {
    wait_a_moment(kStepMilliseconds);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    look_at_time();
  }
}

void RunSession::look_at_time() {
  if (kill_at_) {
    if (seconds_ < *kill_at_) return;
    const std::string late =
        fmt::format("; {} did not save the history within {} s", script_.debugger(), kTimeToSave);
    if (!debugger_->has_ended()) why_cut_short_ += late;
    debugger_->kill();
    if (children_) children_->kill_debuggers(late);
    kill_at_ = seconds_ + kTimeToSave;
    return;
  }
  if (asked_to_end != 0)
    return end(fmt::format("refhist-run was terminated by signal {}", static_cast<int>(asked_to_end)));
  if (options_.timeout_seconds && seconds_ > *options_.timeout_seconds)
    end(fmt::format("the program ran longer than {} s", *options_.timeout_seconds));
}

void RunSession::end(const std::string& why) {
  kill_at_ = seconds_ + kTimeToSave;
  if (children_) children_->end_programs(why);
  if (debugger_->has_ended()) return;
  why_cut_short_ = why;
  // The debugger sees the end of its program and saves what it has.
  if (server_.pid() != 0) return server_.kill_program();
  debugger_->kill();
}

}  // namespace refhist
