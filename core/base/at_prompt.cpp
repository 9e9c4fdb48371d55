#include "base/at_prompt.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"

namespace refhist {

namespace {

bool ends_by_itself(const std::string& program, std::string argument) {
  if (argument.rfind("--", 0) == 0) argument.erase(0, 1);
  const bool lldb = program.rfind("lldb", 0) == 0;  // -b of GDB is a line speed
  return argument == "-batch" || argument == "-batch-silent" || (lldb && argument == "-b");
}

bool serves_editor(const std::string& program, const std::vector<std::string>& arguments) {
  if (program.rfind("lldb-dap", 0) == 0 || program.rfind("lldb-vscode", 0) == 0) return true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool alone = argument == "-i" || argument == "--interpreter" || argument == "-interpreter";
    const std::string& name = alone && i + 1 < arguments.size() ? arguments[i + 1] : argument;
    const std::size_t value = alone ? 0 : name.find('=');
    const bool option = alone || name.rfind("-i=", 0) == 0 || name.rfind("--interpreter=", 0) == 0 ||
                        name.rfind("-interpreter=", 0) == 0;
    if (!option || value == std::string::npos) continue;
    const std::string interpreter = alone ? name : name.substr(value + 1);
    if (interpreter == "dap" || interpreter.rfind("mi", 0) == 0) return true;
  }
  return false;
}

}  // namespace

bool at_prompt(const std::vector<std::string>& arguments, bool terminal) {
  const std::string program = arguments.empty() ? std::string() : file_name(arguments.front());
  if (std::any_of(arguments.begin(), arguments.end(),
                  [&](const std::string& argument) { return ends_by_itself(program, argument); }))
    return false;
  return terminal || serves_editor(program, arguments);
}

bool at_prompt() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  // What follows --args is the program's.
  const auto own_end = std::find_if(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--args" || argument == "-args" || argument == "--";
  });
  arguments.erase(own_end, arguments.end());
  return at_prompt(arguments, isatty(STDIN_FILENO) == 1);
}

}  // namespace refhist
