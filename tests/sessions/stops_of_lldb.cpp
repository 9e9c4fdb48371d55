// Where refhist expects LLDB's steps into the functions of a file to stop: "entry stop", one function a line.
//   stops_of_lldb FILE
#include <fmt/core.h>

#include "agent_host/debugger_stops.h"

int main(int, char** words) {
  refhist::LoadedModule module;
  module.module = refhist::Module::open(words[1]);
  for (const refhist::FunctionSymbol& function : module.module->functions()) {
    std::vector<std::uint8_t> code(function.size);
    if (!module.module->read_code(function.address, code.data(), code.size())) continue;
    fmt::print("{} {}\n", function.address, refhist::stop_of_lldb(module, {function.address, code}));
  }
}
