#include "session/program_identity.h"

#include <fmt/core.h>

#include <fstream>

namespace refhist {

ProgramIdentity identify(const ProcessInfo& process) {
  ProgramIdentity program{process.executable, {}, process.pid};
  if (!process.local) return program;
  std::ifstream file(fmt::format("/proc/{}/cmdline", process.pid), std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');) program.arguments.push_back(argument);
  return program;
}

void close_history(SessionState& state) {
  state.snapshots.clear();
  state.folded.clear();
  state.over_limit = false;
  if (!state.opened) return;
  state.opened.reset();
  for (TrackedFamily& tracked : state.families) tracked.close_file();
}

}  // namespace refhist
