#include "target_session.h"

#include <exception>
#include <string_view>
#include <utility>

#include "host_program.h"
#include "own_code.h"

namespace refhist {

namespace {
constexpr const char* kVforkNote =
    "follow-fork-mode is child: LLDB removes all breakpoints from a child made by vfork, so its gets and "
    "puts are not recorded before it executes a program";

bool follows_child(lldb::SBTarget& target) {
  const lldb::SBStringList value = lldb::SBDebugger::GetInternalVariableValue(
      "target.process.follow-fork-mode", target.GetDebugger().GetInstanceName());
  return value.GetSize() == 1 && std::string_view(value.GetStringAtIndex(0)) == "child";
}

// After these the addresses of our breakpoints mean nothing any more.
bool ends_program(Notice notice) {
  return notice == Notice::exited || notice == Notice::signalled || notice == Notice::detached ||
         notice == Notice::executed;
}
}  // namespace

TargetSession::TargetSession(const SessionOptions& options)
    : sites_(&on_site, this), launch_(&on_launch, this), session_(options) {}

TargetSession::~TargetSession() {
  detach_watch_.stop();
  // The callbacks must not outlive this object.
  sites_.clear(target_);
  launch_.disarm(target_);
}

void TargetSession::adopt(const lldb::SBTarget& target) {
  target_ = target;
  adopted_ = true;
}

void TargetSession::launched(bool before_entry) {
  guarded([&] {
    launch_.arm(target_);
    if (!before_entry) catch_up(ProcessObserver::Occasion::breakpoint);
    return false;
  });
}

CommandResult TargetSession::execute(lldb::SBDebugger& debugger, const std::string& line) {
  const std::lock_guard lock(mutex_);
  catch_up(ProcessObserver::Occasion::command);
  LldbPort port(debugger, target_, access_, sites_, watchpoints_);
  CommandResult result = session_.execute(port, line);
  if (port.has_evaluated()) leftovers_.expect();
  erase_leftovers();
  // The command may have begun to track something: then the next launch must be seen.
  if (target_.IsValid() && session_.tracking()) launch_.arm(target_);
  return result;
}

void TargetSession::catch_up(ProcessObserver::Occasion occasion) {
  const std::lock_guard lock(mutex_);
  if (!target_.IsValid()) return;
  if (occasion == ProcessObserver::Occasion::command) erase_leftovers();
  LldbPort port = this->port();
  for (const Observation& seen : observer_.look(target_, occasion)) {
    if (ends_program(seen.notice)) {
      sites_.clear(target_);
      watchpoints_.clear(target_);
    }
    session_.notify(port, seen.notice, seen.detail);
  }
  if (occasion == ProcessObserver::Occasion::command) session_.notify(port, Notice::breakpoints, 0);
  if (!session_.tracking()) return;
  launch_.arm(target_);
  if (observer_.has_process() && follows_child(target_)) session_.note(kVforkNote);
}

void TargetSession::erase_leftovers() {
  lldb::SBProcess process = target_.GetProcess();
  leftovers_.erase(process);
}

void TargetSession::expect_detach() {
  ProcessInfo process;
  {
    const std::lock_guard lock(mutex_);
    LldbPort port = this->port();
    session_.notify(port, Notice::leaving, 0);
    process = port.process();
  }
  if (!process.local || process.pid == 0) return;
  detach_watch_.start(process.pid, [this] {
    guarded([&] {
      catch_up(ProcessObserver::Occasion::breakpoint);
      return false;
    });
  });
}

void TargetSession::expect_run() {
  stepping_ = {};
  if (shown_.empty()) return;
  lldb::SBProcess process = target_.GetProcess();
  forget_own_code(process, std::exchange(shown_, {}));
}

void TargetSession::expect_step() {
  expect_run();
  lldb::SBThread thread = target_.GetProcess().GetSelectedThread();
  stepping_ = {thread.GetThreadID(), thread.GetFrameAtIndex(0).GetSP()};
}

// LLDB has forgotten a step that comes to a breakpoint, also to one that goes on by itself: the program would
// run on. Where the step has left its function it would have stopped.
bool TargetSession::is_stepped_out(lldb::SBThread& thread) const {
  return thread.GetThreadID() == stepping_.tid && thread.GetFrameAtIndex(0).GetSP() > stepping_.sp;
}

void TargetSession::show_own_code() {
  guarded([&] {
    lldb::SBProcess process = target_.GetProcess();
    // An editor steps without a command that would have it forgotten.
    if (is_lldb_dap() || is_lldb_vscode()) return false;
    if (port().process().state == ProcessState::stopped && port().process().local)
      shown_ = cache_own_code(target_, process, session_.covered_code(0, ~Address{0}));
    return false;
  });
}

bool TargetSession::hit(lldb::SBProcess& process, lldb::SBThread& thread,
                        lldb::SBBreakpointLocation& location) {
  if (observer_.knows(process) && observer_.replaced(process)) {
    // It stands at a breakpoint of the program before, at the same address.
    catch_up(ProcessObserver::Occasion::breakpoint);
    return false;
  }
  if (!observer_.knows(process)) catch_up(ProcessObserver::Occasion::breakpoint);
  LldbPort port(target_.GetDebugger(), target_, process, thread, access_, sites_, watchpoints_);
  if (!session_.hit(port, static_cast<long>(thread.GetThreadID()), location.GetLoadAddress()))
    return is_stepped_out(thread);
  const std::string reason = session_.stop_reason();
  port.print(reason);
  // Others may stand at breakpoints of ours at the same time, and LLDB may show one of these.
  process.SetSelectedThread(thread);
  return !stop_text_.give(target_, process, thread, reason);
}

// LLDB is no place for an exception. What failed is said, and the program goes on.
template <class Work>
bool TargetSession::guarded(Work&& work) {
  const std::lock_guard lock(mutex_);
  try {
    return work();
  } catch (const std::exception& error) {
    port().print(std::string("refhist: ") + error.what());
    return false;
  }
}

void TargetSession::quitting() {
  detach_watch_.stop();
  guarded([&] {
    catch_up(ProcessObserver::Occasion::command);
    LldbPort port = this->port();
    session_.notify(port, Notice::quitting, 0);
    return false;
  });
}

void TargetSession::changed(lldb::tid_t tid, Address address) {
  guarded([&] {
    lldb::SBProcess process = target_.GetProcess();
    lldb::SBThread thread = process.GetThreadByID(tid);
    LldbPort port(target_.GetDebugger(), target_, process, thread, access_, sites_, watchpoints_);
    watchpoints_.set_telling(true);
    session_.changed(port, static_cast<long>(tid), address);
    watchpoints_.set_telling(false);
    return false;
  });
}

bool TargetSession::on_site(void* self, lldb::SBProcess& process, lldb::SBThread& thread,
                            lldb::SBBreakpointLocation& location) {
  auto& session = *static_cast<TargetSession*>(self);
  return session.guarded([&] { return session.hit(process, thread, location); });
}

bool TargetSession::on_launch(void* self, lldb::SBProcess&, lldb::SBThread&,
                              lldb::SBBreakpointLocation& location) {
  auto& session = *static_cast<TargetSession*>(self);
  return session.guarded([&] {
    const bool entry = session.launch_.is_entry(location);
    session.catch_up(entry ? ProcessObserver::Occasion::entry : ProcessObserver::Occasion::breakpoint);
    return false;
  });
}

}  // namespace refhist
