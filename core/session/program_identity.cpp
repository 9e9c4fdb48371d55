#include "session/program_identity.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

namespace refhist {

namespace {

std::vector<std::string> words_of(long pid, const char* name) {
  std::vector<std::string> words;
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

std::string input_of(const std::string& process) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path input = fs::read_symlink(fmt::format("/proc/{}/fd/0", process), error);
  return !error && fs::is_regular_file(input, error) ? input.string() : std::string();
}

ProgramIdentity identify(const ProcessInfo& process) {
  namespace fs = std::filesystem;
  ProgramIdentity program{process.executable, {}, process.pid};
  if (!process.local) return program;
  program.arguments = words_of(process.pid, "cmdline");
  program.environment = words_of(process.pid, "environ");
  std::error_code error;
  program.folder = fs::read_symlink(fmt::format("/proc/{}/cwd", process.pid), error).string();
  program.input = input_of(std::to_string(process.pid));
  return program;
}

void close_history(SessionState& state) {
  state.snapshots.clear();
  state.confirmed.clear();
  state.folded.clear();
  state.over_limit = false;
  if (!state.opened) return;
  state.opened.reset();
  for (TrackedFamily& tracked : state.families) tracked.close_file();
}

}  // namespace refhist
