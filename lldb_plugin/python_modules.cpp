#include "python_modules.h"

#include <fmt/core.h>

#include <filesystem>
#include <string>

#include "host_program.h"
#include "plugin_folder.h"

namespace refhist {

namespace {
/// As a literal of Python, within the double quotes of no LLDB command.
std::string literal(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}
}  // namespace

void offer_python_modules(lldb::SBDebugger& debugger) {
  const std::filesystem::path folder = plugin_folder();
  std::error_code error;
  if (!std::filesystem::exists(folder / "refhist.py", error)) return;
  if (debugger.GetScriptLanguage() != lldb::eScriptLanguagePython) return;
  const std::string path = literal(folder.string());
  const char* more = is_lldb_dap() ? "; import refhist_stop" : "";
  lldb::SBCommandReturnObject result;
  debugger.GetCommandInterpreter().HandleCommand(
      fmt::format("script import sys; sys.path = [p for p in sys.path if p != {0}] + [{0}]{1}", path, more)
          .c_str(),
      result);
}

}  // namespace refhist
