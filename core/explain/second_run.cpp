#include "explain/second_run.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/interruption.h"
#include "base/quarantine_size.h"
#include "base/scratch_folder.h"
#include "base/started_process.h"
#include "base/text.h"

extern char** environ;

namespace refhist {

namespace {

constexpr int kBetweenQuestions = 100;  // milliseconds
constexpr int kToEnd = 10000;           // that refhist-run gets to end its program and its debugger

constexpr double kToSave = 90;  // seconds that refhist-run may take once its program has ended

std::vector<std::string> environment_of(const ProgramIdentity& program) {
  if (!program.environment.empty()) return program.environment;
  std::vector<std::string> here;
  for (char** entry = environ; *entry != nullptr; ++entry) here.emplace_back(*entry);
  return here;
}

std::vector<std::string> command_of(const SecondRun& run, const std::vector<std::string>& follow,
                                    const std::string& save) {
  std::vector<std::string> words{run.runner,
                                 "--debugger",
                                 run.debugger,
                                 "--fail-on",
                                 "none",
                                 "--timeout",
                                 fmt::format("{}", run.seconds),
                                 "--no-send",
                                 "--quiet"};
  for (const std::string& setting : run.settings)
    words.insert(words.end(), {"--set", replace_all(setting, " ", "=")});
  for (const std::string& order : run.tracked) words.insert(words.end(), {"--track", order});
  for (const std::string& order : follow) words.insert(words.end(), {"--follow", order});
  if (!save.empty()) words.insert(words.end(), {"--save", save});
  words.insert(words.end(), {"--", run.program.executable});
  if (run.program.arguments.size() > 1)
    words.insert(words.end(), run.program.arguments.begin() + 1, run.program.arguments.end());
  return words;
}

void wait_some(const StartedProcess& process, int milliseconds) {
  pollfd file{process.file(), POLLIN, 0};
  poll(&file, 1, milliseconds);
}

void end(StartedProcess& process) {
  process.ask_to_end();
  for (int waited = 0; waited < kToEnd && !process.has_ended(); waited += kBetweenQuestions)
    wait_some(process, kBetweenQuestions);
  process.kill();
  while (!process.has_ended()) wait_some(process, kBetweenQuestions);
}

void wait_for(StartedProcess& process, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  try {
    while (!process.has_ended()) {
      wait_some(process, kBetweenQuestions);
      if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds + kToSave)
        fail("the second run did not finish");
      Interruption::check([&] {
        return fmt::format("running the program again, {} s",
                           std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
      });
    }
  } catch (const Error&) {
    end(process);
    throw;
  }
}

std::string last_message(const std::string& path) {
  std::ifstream file(path);
  std::string message;
  std::string last;  // of the debugger's, which follow it
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("refhist-run: ")) message = line;
    if (!message.empty()) last = line;
  }
  return message == last ? message : message + " " + std::string(trim(last));
}

}  // namespace

void SecondRun::run(const std::vector<std::string>& follow, const std::string& save) const {
  if (program.executable.empty()) fail("the program that ran is not known");
  const ScratchFolder scratch;
  const StartedProcess::Files files{.input = program.input.empty() ? "/dev/null" : program.input,
                                    .output = "/dev/null",
                                    .errors = scratch.path() + "/errors",
                                    .folder = program.folder};
  StartedProcess process(command_of(*this, follow, save), environment_of(program), files);
  wait_for(process, seconds);
  if (const std::string message = last_message(files.errors); !message.empty())
    fail("the second run failed: {}", message);
}

bool SecondRun::try_run(const std::vector<std::string>& follow) const {
  try {
    run(follow);
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

bool SecondRun::moves_objects() const {
  return std::any_of(settings.begin(), settings.end(), [](const std::string& setting) {
    return setting.starts_with(kQuarantineSetting) && setting.substr(kQuarantineSetting.size()) != "off";
  });
}

SecondRun SecondRun::without_quarantine() const {
  SecondRun without = *this;
  std::erase_if(without.settings,
                [](const std::string& setting) { return setting.starts_with(kQuarantineSetting); });
  without.settings.push_back(std::string(kQuarantineSetting) + "off");
  return without;
}

std::string runner_beside(const std::string& families_folder) {
  namespace fs = std::filesystem;
  for (const char* way : {"../../bin/refhist-run", "../../../bin/refhist-run"}) {
    const fs::path path = (fs::path(families_folder) / way).lexically_normal();
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  fail("refhist-run, which runs the program again, is missing: build or install all of refhist");
}

}  // namespace refhist
