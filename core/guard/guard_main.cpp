// A process that outlives the debugger. When that is killed, the kernel lets the program go with all
// breakpoints in it, and the first one would end it: the guard takes them out, has the program go on where a
// halt was on its way, and removes the debugger's files. It ends with its program, or when it is told to.
//
//   guard PID PIPE MEM MAPS PAGEMAP [FILES]
// Numbers are descriptors: the reading end of a pipe whose other end the debugger alone has (a byte there:
// nothing is left to guard but files), and files of /proc/PID, which could perhaps not be opened afterwards.
// FILES: what the paths of the debugger's temporary files begin with.
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "base/close_files.h"
#include "base/folder_entries.h"
#include "base/process_file.h"
#include "guard/guarded_program.h"
#include "guard/mended_code.h"
#include "guard/newborn_children.h"

namespace refhist::guard {

namespace {

enum class News { dismissed, program_gone, debugger_gone, tracer_gone };

/// Nobody waits for it, and no signal for the debugger's terminal or group reaches it.
void become_nobodys_child() {
  if (fork() != 0) _exit(0);
  setsid();
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) std::signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "refhist-guard");
  // It waits, and then runs for a millisecond: against what the debugger's death lets run.
  const sched_param first{1};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) setpriority(PRIO_PROCESS, 0, -20);
  if (chdir("/") != 0) return;
}

News wait_for_news(int pipe, const GuardedProgram& program) {
  pollfd waits[] = {{pipe, POLLIN, 0}, {program.pidfd(), POLLIN, 0}, {program.tracer_pidfd(), POLLIN, 0}};
  for (;;) {
    if (poll(waits, 3, -1) <= 0) continue;
    if (waits[1].revents != 0) return News::program_gone;
    if (waits[2].revents != 0) return News::tracer_gone;
    char byte = 0;
    if (waits[0].revents != 0) return read(pipe, &byte, 1) == 0 ? News::debugger_gone : News::dismissed;
  }
}

/// Of the program and the tracer, whichever goes first. The debugger's death may take a moment.
void wait_for_tracer(const GuardedProgram& program) {
  pollfd waits[] = {{program.pidfd(), POLLIN, 0}, {program.tracer_pidfd(), POLLIN, 0}};
  if (program.tracer_pidfd() < 0) return;
  while (poll(waits, 2, -1) < 0) {
  }
}

void remove_files(const std::string& begin) {
  const std::filesystem::path path(begin);
  for (const auto& entry : entries_of(path.parent_path())) {
    if (entry.filename().string().starts_with(path.filename().string())) unlink(entry.c_str());
  }
}

/// The earlier the better: the program may be let go at any moment, and every other one after that.
void mend_at_once(GuardedProgram& program, MendedCode& code, NewbornChildren& children) {
  program.halt_tracer();
  code.mend();
  children.mend(code);
  program.release_tracer();
  wait_for_tracer(program);
}

/// The debugger's end of the pipe is closed when it dies, or when another guard has taken over. Where LLDB
/// lives on and lldb-server is gone, it still reads its files.
bool debugger_dies(int pipe, int debugger) {
  char byte = 0;
  while (read(pipe, &byte, 1) != 0) {
  }
  pollfd death{debugger, POLLIN, 0};
  constexpr int kMilliseconds = 1000;
  return poll(&death, 1, kMilliseconds) == 1;
}

void guard(GuardedProgram& program, MendedCode& code, NewbornChildren& children, int pipe) {
  const News news = wait_for_news(pipe, program);
  if (news == News::dismissed || news == News::program_gone) return;
  if (news == News::debugger_gone) mend_at_once(program, code, children);
  if (program.traced()) return;  // by another debugger
  code.mend();
  children.mend(code);
  program.go_on(children);
}

}  // namespace
}  // namespace refhist::guard

int main(int count, char** words) {
  using namespace refhist::guard;
  if (count < 6) return 2;
  const auto number = [&](int place) { return std::atoi(words[place]); };
  const auto debugger = refhist::open_process(getppid());
  become_nobodys_child();
  std::set<unsigned> kept{static_cast<unsigned>(debugger)};
  for (int i = 2; i < 6; ++i) kept.insert(static_cast<unsigned>(number(i)));
  // A pipe of the debugger's that stayed open here would never end for whoever reads it.
  refhist::close_all_but(kept);
  GuardedProgram program(number(1));
  if (program.pidfd() < 0) return 1;
  MendedCode code(number(1), {number(3), number(4), number(5)});
  NewbornChildren children(number(1));
  guard(program, code, children, number(2));
  if (count > 6 && debugger_dies(number(2), debugger)) remove_files(words[6]);
  return 0;
}
