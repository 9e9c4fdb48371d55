#include "session/program_guard.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "agent_host/temporary_file.h"
#include "base/open_file.h"

extern "C" const char refhist_embedded_guard[];
extern "C" const char refhist_embedded_guard_end[];

namespace refhist {

namespace {
/// The program in memory: it needs no place in the file system, and the debugger finds it wherever refhist
/// lies.
int guard_file() {
  const auto size = static_cast<std::size_t>(refhist_embedded_guard_end - refhist_embedded_guard);
  const int file = memfd_create("refhist-guard", MFD_CLOEXEC);
  if (file >= 0 && write(file, refhist_embedded_guard, size) == static_cast<ssize_t>(size)) return file;
  if (file >= 0) close(file);
  return -1;
}

/// With no signal blocked or ignored, and these descriptors kept.
class GuardSpawn {
 public:
  explicit GuardSpawn(const std::vector<int>& kept) {
    posix_spawn_file_actions_init(&actions_);
    for (const int descriptor : kept) posix_spawn_file_actions_adddup2(&actions_, descriptor, descriptor);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~GuardSpawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  GuardSpawn(const GuardSpawn&) = delete;
  GuardSpawn& operator=(const GuardSpawn&) = delete;

  bool start(int file, std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    char* none[] = {nullptr};
    pid_t child = 0;
    const std::string path = fmt::format("/proc/self/fd/{}", file);
    if (posix_spawn(&child, path.c_str(), &actions_, &attributes_, arguments.data(), none) != 0) return false;
    // It ends once it has made the guard. The debugger may have taken its status.
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

int open_of(long pid, const char* name, int how) {
  return open(fmt::format("/proc/{}/{}", pid, name).c_str(), how | O_CLOEXEC);
}
}  // namespace

ProgramGuard::~ProgramGuard() { close_pipe(); }

void ProgramGuard::close_pipe() {
  if (pipe_ >= 0) close(pipe_);
  pipe_ = -1;
}

const char* ProgramGuard::watch(long pid) {
  dismiss();
  close_pipe();
  const OpenFile memory(open_of(pid, "mem", O_RDWR));
  const OpenFile maps(open_of(pid, "maps", O_RDONLY));
  const OpenFile pages(open_of(pid, "pagemap", O_RDONLY));
  if (memory.number() < 0 || maps.number() < 0 || pages.number() < 0)
    return "its memory cannot be opened for writing";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "the debugger has no file descriptors left";
  const OpenFile reading(ends[0]);
  pipe_ = ends[1];
  const OpenFile file(guard_file());
  std::vector<std::string> words{"refhist-guard", std::to_string(pid)};
  const std::vector<int> kept{reading.number(), memory.number(), maps.number(), pages.number()};
  for (const int descriptor : kept) words.push_back(std::to_string(descriptor));
  words.push_back(TemporaryFile::own_beginning());
  if (file.number() >= 0 && GuardSpawn(kept).start(file.number(), std::move(words))) return "";
  close_pipe();
  return "its guard cannot be started";
}

void ProgramGuard::dismiss() {
  if (pipe_ < 0) return;
  const char byte = 0;
  // A guard that has ended with its program reads no more; the debugger shall not be told by SIGPIPE.
  sigset_t broken;
  sigset_t before;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  const bool gone = write(pipe_, &byte, 1) < 0 && errno == EPIPE;
  const timespec now{};
  if (gone && sigismember(&before, SIGPIPE) == 0) sigtimedwait(&broken, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace refhist
