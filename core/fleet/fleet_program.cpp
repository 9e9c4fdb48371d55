#include "fleet/fleet_program.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/input_file.h"
#include "base/replaced_file.h"
#include "base/scratch_folder.h"
#include "base/started_process.h"

extern char** environ;

namespace refhist {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libpq.so.5";
constexpr auto kStep = std::chrono::milliseconds(5);

/// The dynamic linker would say it in its own words, and not which package has it. To load the library takes
/// as long as to start the program that does it again, so its file is looked for first, where it was at the
/// build.
void expect_library() {
  if (access((std::string(REFHIST_LIBPQ_FOLDER "/") + kLibrary).c_str(), R_OK) == 0) return;
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) fail("{} is not there: install the package libpq5", kLibrary);
  dlclose(library);
}

std::vector<std::string> environment_with(const std::string& target) {
  const std::string assignment = std::string(kTargetVariable) + "=";
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(assignment)) all.emplace_back(*entry);
  }
  all.push_back(assignment + target);
  return all;
}

}  // namespace

std::string find_fleet_program() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../core/refhist-fleet", "../" REFHIST_LIBDIR "/refhist/refhist-fleet"}) {
    const fs::path path = (own / place).lexically_normal();
    if (!fs::is_regular_file(path, error)) continue;
    expect_library();
    return path.string();
  }
  fail("the part that talks to PostgreSQL is not there: install the package refhist-fleet");
}

FleetAnswer ask_fleet_program(const std::vector<std::string>& words, const std::string& target,
                              const std::string& input, double seconds) {
  const ScratchFolder scratch;
  const std::string in = scratch.path() + "/in";
  const std::string out = scratch.path() + "/out";
  const std::string messages = scratch.path() + "/messages";
  replace_file(in, input);
  std::vector<std::string> command = {find_fleet_program()};
  command.insert(command.end(), words.begin(), words.end());
  StartedProcess process(command, environment_with(target), {in, out, messages, {}});
  FleetAnswer answer;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!process.has_ended()) {
    if (std::chrono::steady_clock::now() > end && answer.in_time) {
      answer.in_time = false;
      process.kill();
    }
    std::this_thread::sleep_for(kStep);
  }
  const int status = process.wait_status();
  answer.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  answer.text = InputFile(out).text();
  answer.messages = InputFile(messages).text();
  return answer;
}

void become_fleet_program(const std::vector<std::string>& words) {
  std::vector<std::string> command = {find_fleet_program()};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  fail("{} cannot be started: {}", command.front(), std::strerror(errno));
}

}  // namespace refhist
