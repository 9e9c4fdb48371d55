#include "debugger_sessions.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>

#include "families_folder.h"
#include "write_line.h"

namespace refhist {

namespace {
constexpr const char* kResumingCommands[] = {"process continue", "process attach", "process connect",
                                             "process signal", "thread continue"};
constexpr const char* kSteppingCommands[] = {"thread step-in",   "thread step-over",      "thread step-out",
                                             "thread step-inst", "thread step-inst-over", "thread until"};
constexpr const char* kEvaluatingCommands[] = {"expression", "dwim-print"};
constexpr const char* kShowingCode[] = {"disassemble", "memory read", "frame select"};
constexpr const char* kKillingCommands[] = {"process launch", "process kill"};

// LLDB's commands keep the number of their debugger and not a pointer to its sessions: the user can delete
// the refhist command, and these objects with it.
struct Registry {
  std::mutex mutex;
  std::map<lldb::user_id_t, DebuggerSessions*> sessions;

  DebuggerSessions* find(lldb::user_id_t debugger_id) {
    const std::lock_guard lock(mutex);
    const auto found = sessions.find(debugger_id);
    return found == sessions.end() ? nullptr : found->second;
  }
};

Registry& registry() {
  static Registry& instance = *new Registry;  // sessions may end later than what is static here
  return instance;
}

void* baton_of(lldb::user_id_t debugger_id) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(debugger_id));
}

lldb::user_id_t id_in(void* baton) { return reinterpret_cast<std::uintptr_t>(baton); }
}  // namespace

DebuggerSessions::DebuggerSessions(lldb::SBDebugger& debugger)
    : debugger_id_(debugger.GetID()),
      options_{families_folder()},
      first_launch_(&on_first_launch, baton_of(debugger_id_)) {
  {
    const std::lock_guard lock(registry().mutex);
    registry().sessions[debugger_id_] = this;
  }
  watch_commands(debugger);
#if REFHIST_LLDB_VERSION >= 19  // older ones have room for one callback, which may be the user's
  debugger.AddDestroyCallback(&before_end, nullptr);
#endif
}

DebuggerSessions::~DebuggerSessions() {
  const std::lock_guard lock(registry().mutex);
  registry().sessions.erase(debugger_id_);
}

bool DebuggerSessions::exist(lldb::SBDebugger& debugger) {
  return registry().find(debugger.GetID()) != nullptr;
}

CommandResult DebuggerSessions::execute(lldb::SBDebugger& debugger, const std::string& line) {
  TargetSession& session = selected(debugger);
  CommandResult result = session.execute(debugger, line);
  if (session.waits_for_target() && session.tracking()) first_launch_.watch(debugger);
  return result;
}

void DebuggerSessions::changed(lldb::user_id_t debugger_id, std::uint32_t process_id, lldb::tid_t tid,
                               Address address) {
  DebuggerSessions* self = registry().find(debugger_id);
  if (self == nullptr) return;
  for (const auto& session : self->sessions_) {
    if (session->runs(process_id)) return session->changed(tid, address);
  }
}

TargetSession& DebuggerSessions::selected(lldb::SBDebugger& debugger) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  TargetSession& session = session_of(target);
  if (!session.waits_for_target()) first_launch_.forget(debugger, target);
  return session;
}

TargetSession& DebuggerSessions::session_of(const lldb::SBTarget& target) {
  const std::lock_guard lock(mutex_);
  for (const auto& session : sessions_) {
    if (session->is_for(target)) return *session;
  }
  // Sessions of deleted targets go, but the one that waits for its first target stays.
  std::erase_if(sessions_, [](const auto& session) { return session->lost_target(); });
  const auto waiting = std::find_if(sessions_.begin(), sessions_.end(),
                                    [](const auto& session) { return session->waits_for_target(); });
  TargetSession& session = waiting != sessions_.end()
                               ? **waiting
                               : *sessions_.emplace_back(std::make_unique<TargetSession>(options_));
  if (target.IsValid()) session.adopt(target);
  return session;
}

void DebuggerSessions::watch_commands(lldb::SBDebugger& debugger) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  void* id = baton_of(debugger_id_);
  for (const char* command : kResumingCommands)
    interpreter.SetCommandOverrideCallback(command, &before_resume, id);
  for (const char* command : kSteppingCommands)
    interpreter.SetCommandOverrideCallback(command, &before_step, id);
  interpreter.SetCommandOverrideCallback("process detach", &before_detach, id);
  for (const char* command : kEvaluatingCommands)
    interpreter.SetCommandOverrideCallback(command, &before_expression, id);
  for (const char* command : kKillingCommands)
    interpreter.SetCommandOverrideCallback(command, &before_kill, id);
  for (const char* command : kShowingCode)
    interpreter.SetCommandOverrideCallback(command, &before_showing_code, id);
}

bool DebuggerSessions::before_resume(void* debugger_id, const char**) {
  at_command(debugger_id, [](TargetSession& session) { session.expect_run(); });
  return false;  // LLDB goes on with its command
}

bool DebuggerSessions::before_step(void* debugger_id, const char**) {
  at_command(debugger_id, [](TargetSession& session) { session.expect_step(); });
  return false;
}

bool DebuggerSessions::before_detach(void* debugger_id, const char**) {
  at_command(debugger_id, [](TargetSession& session) { session.expect_detach(); });
  return false;
}

bool DebuggerSessions::before_kill(void* debugger_id, const char**) {
  at_command(debugger_id, [](TargetSession& session) { session.expect_kill(); });
  return false;
}

void DebuggerSessions::before_end(lldb::user_id_t debugger_id, void*) {
  DebuggerSessions* self = registry().find(debugger_id);
  if (self == nullptr) return;
  for (const auto& session : self->sessions_) session->quitting();
}

bool DebuggerSessions::before_expression(void* debugger_id, const char**) {
  at_command(debugger_id, [](TargetSession& session) { session.expect_leftovers(); });
  return false;
}

bool DebuggerSessions::before_showing_code(void* debugger_id, const char**) {
  at_command(debugger_id, [](TargetSession& session) { session.show_own_code(); });
  return false;
}

bool DebuggerSessions::on_first_launch(void* debugger_id, lldb::SBProcess& process, lldb::SBThread& thread,
                                       lldb::SBBreakpointLocation& location) {
  FirstLaunch::retire(location);
  DebuggerSessions* self = registry().find(id_in(debugger_id));
  if (self != nullptr) self->session_of(process.GetTarget()).launched(FirstLaunch::is_before_entry(thread));
  return false;
}

template <class Work>
void DebuggerSessions::at_command(void* debugger_id, Work&& work) {
  const lldb::user_id_t id = id_in(debugger_id);
  DebuggerSessions* self = registry().find(id);
  lldb::SBDebugger debugger = lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(id));
  if (self == nullptr || self->sessions_.empty() || !debugger.IsValid()) return;
  try {
    TargetSession& session = self->selected(debugger);
    session.catch_up(ProcessObserver::Occasion::command);
    work(session);
  } catch (const std::exception& error) {
    write_line(debugger.GetErrorFile(), std::string("refhist: ") + error.what());
  }
}

}  // namespace refhist
