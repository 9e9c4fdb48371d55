#include "base/started_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/process_file.h"

namespace refhist {

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

StartedProcess::StartedProcess(std::vector<std::string> command, std::vector<std::string> environment,
                               const Files& wanted) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (!wanted.folder.empty()) posix_spawn_file_actions_addchdir_np(&files, wanted.folder.c_str());
  posix_spawn_file_actions_addopen(&files, 0, wanted.input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, wanted.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (wanted.output.empty()) {
    posix_spawn_file_actions_adddup2(&files, 2, 1);
  } else {
    posix_spawn_file_actions_addopen(&files, 1, wanted.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A process group of its own: what is typed is for the program. Signals as they are usual.
  sigset_t usual;
  sigset_t blocked;
  sigfillset(&usual);
  sigemptyset(&blocked);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int failed = posix_spawn(&pid_, command.front().c_str(), &files, &attributes,
                                 pointers(command).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) fail("{} cannot be started: {}", command.front(), std::strerror(failed));
  file_ = open_process(pid_);
}

StartedProcess::StartedProcess(pid_t pid) : pid_(pid), file_(open_process(pid)), own_(false) {}

StartedProcess::~StartedProcess() {
  if (file_ >= 0) close(file_);
}

bool StartedProcess::has_ended() {
  if (!own_) return ended_ = ended_ || process_has_ended(file_);
  // In a debugger, that may have been waited for already.
  if (!ended_) ended_ = waitpid(pid_, &wait_status_, WNOHANG) != 0;
  return ended_;
}

void StartedProcess::ask_to_end() const {
  if (!ended_) ::kill(pid_, SIGTERM);
}

void StartedProcess::kill() const {
  if (!ended_) ::kill(-pid_, SIGKILL);
}

}  // namespace refhist
