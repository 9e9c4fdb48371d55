#include "refhist_command.h"

#include <exception>
#include <string>

#include "command_line.h"

namespace refhist {

namespace {
void quit(lldb::SBDebugger& debugger, int status, lldb::SBCommandReturnObject& result) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  interpreter.SetPromptOnQuit(false);
  interpreter.AllowExitCodeOnQuit(true);
  lldb::SBCommandReturnObject of_quit;
  interpreter.HandleCommand(("quit " + std::to_string(status)).c_str(), of_quit);
  result.SetStatus(lldb::eReturnStatusQuit);
}
}  // namespace

CommandResult RefhistCommand::run(lldb::SBDebugger& debugger, char** words) {
  try {
    return sessions_.execute(debugger, join_words(words));
  } catch (const std::exception& error) {
    return {false, error.what(), -1};
  }
}

bool RefhistCommand::DoExecute(lldb::SBDebugger debugger, char** words, lldb::SBCommandReturnObject& result) {
  const CommandResult outcome = run(debugger, words);
  if (outcome.ok) {
    result.PutCString(outcome.text.c_str());
    result.SetStatus(outcome.text.empty() ? lldb::eReturnStatusSuccessFinishNoResult
                                          : lldb::eReturnStatusSuccessFinishResult);
  } else {
    result.SetError(outcome.text.c_str());
  }
  if (outcome.quit_status >= 0) quit(debugger, outcome.quit_status, result);
  return outcome.ok;
}

}  // namespace refhist
