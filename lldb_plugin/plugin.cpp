// What LLDB calls when the user says `plugin load librefhist_lldb.so`.
#include <lldb/API/LLDB.h>

#include <string>

#include "debugger_sessions.h"
#include "facade/session.h"
#include "python_modules.h"
#include "refhist_command.h"
#include "version.h"
#include "write_line.h"

namespace lldb {
[[gnu::visibility("default")]] bool PluginInitialize(SBDebugger debugger);
}

// What the line of Python at a watchpoint calls. Answers whether the program shall stop.
extern "C" [[gnu::visibility("default")]] int refhist_lldb_changed(std::uint64_t debugger_id,
                                                                   std::uint64_t process_id, std::int64_t tid,
                                                                   std::uint64_t address);

int refhist_lldb_changed(std::uint64_t debugger_id, std::uint64_t process_id, std::int64_t tid,
                         std::uint64_t address) {
  refhist::DebuggerSessions::changed(debugger_id, static_cast<std::uint32_t>(process_id),
                                     static_cast<lldb::tid_t>(tid), address);
  return 0;
}

bool lldb::PluginInitialize(SBDebugger debugger) {
  const char* version = SBDebugger::GetVersionString();
  const std::string problem = refhist::version_problem(version == nullptr ? "" : version);
  if (!problem.empty()) {
    refhist::write_line(debugger.GetErrorFile(), problem);
    return false;
  }
  if (refhist::DebuggerSessions::exist(debugger)) return true;

  SBCommand command = debugger.GetCommandInterpreter().AddCommand(
      "refhist", new refhist::RefhistCommand(debugger),
      "Reference counts: who took a reference, who gave it back.", "refhist ADDRESS | COMMAND [ARGUMENTS]");
  command.SetHelpLong(refhist::Session({}).help("").c_str());
  refhist::offer_python_modules(debugger);
  return command.IsValid();
}
