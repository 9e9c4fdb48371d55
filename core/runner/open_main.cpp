// refhist: the reports of a saved history, without a debugger.
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "commands/command.h"
#include "facade/session.h"
#include "fleet/fleet_program.h"
#include "fleet/fleet_table.h"
#include "runner/completion.h"
#include "runner/no_debugger.h"

namespace {

using namespace refhist;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr rlim_t kMemoryOfAny = rlim_t{1} << 30;  // bytes
constexpr rlim_t kMemoryOfByte = 256;             // of the file

void refuse_more() {
  constexpr std::string_view kWhy =
      "refhist: the report takes more memory than a file of this size should need: ask for less, or the file "
      "is damaged\n";
  if (write(STDERR_FILENO, kWhy.data(), kWhy.size()) < 0) _exit(kFailed);
  _exit(kFailed);
}

/// Reports of a file take memory in proportion to it. One that was made to take more is told of, not paid
/// for.
void limit_memory(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return;
  const rlim_t machine =
      static_cast<rlim_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  std::set_new_handler(refuse_more);
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlim_t least = std::min(kMemoryOfAny, machine);
  const rlim_t wanted = least + std::min<rlim_t>(size, (machine - least) / kMemoryOfByte) * kMemoryOfByte;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_DATA, &limit);
}

/// Verbs that need no process.
const std::vector<std::string>& verbs_of_a_file() {
  static const std::vector<std::string> verbs = {"status", "objects", "leaks",  "balance", "usage",
                                                 "diff",   "check",   "export", "help"};
  return verbs;
}

std::string help() {
  return fmt::format(
      "refhist FILE [COMMAND...]\n"
      "  runs the command (default: leaks) on a history that refhist save or refhist-run --save wrote:\n"
      "  ADDR, {}\n"
      "  exit status: that of check; 0 for others, 1 for an error, 2 for wrong usage\n"
      "refhist send FILE...     sends such histories to a database of many runs\n"
      "refhist fleet COMMAND    asks that database (refhist fleet --help)\n",
      join(verbs_of_a_file(), ", "));
}

/// The last word, behind the first `before` ones. The word before it may be an option that it is the value
/// of.
Completion complete_option(const std::vector<OptionSpec>& options, const std::vector<std::string>& words,
                           std::size_t before) {
  const bool is_value = words.size() > before + 1 && words[words.size() - 2].starts_with("--");
  Completion completion = complete_options(options, {words.end() - (is_value ? 2 : 1), words.end()});
  completion.command_at.reset();
  return completion;
}

/// Behind `refhist fleet`, or `refhist send`.
Completion complete_fleet(std::vector<std::string> words) {
  if (words.front() == "fleet") words.erase(words.begin());
  if (words.size() == 1) {
    Completion completion;
    for (const FleetVerb& verb : fleet_verbs()) {
      if (verb.verb.starts_with(words.front()) && verb.verb != "send") completion.words.push_back(verb.verb);
    }
    return completion;
  }
  const FleetVerb& verb = find_fleet_verb(words.front());
  if (verb.verb == "send" && !words.back().starts_with('-') && !words[words.size() - 2].starts_with("--"))
    return {{}, Completion::Also::files, {}};
  return complete_option(verb.options, words, 1);
}

/// A file of this name is asked for as ./fleet.
bool is_fleet_word(const std::string& word) { return word == "fleet" || word == "send"; }

int run_fleet(std::vector<std::string> words) {
  if (words.front() == "fleet") words.erase(words.begin());
  try {
    become_fleet_program(words);
  } catch (const Error& error) {
    fmt::print(stderr, "refhist: {}\n", error.what());
    return kFailed;
  }
}

/// What may stand at the end of the command line; asked by the shell.
Completion complete(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& last = words.back();
  if (words.size() == 1) {
    if (last.starts_with('-')) return complete_options({{"--help", "", ""}, {"--version", "", ""}}, words);
    Completion completion{{}, Completion::Also::files, {}};
    for (const char* word : {"fleet", "send"}) {
      if (!last.empty() && std::string_view(word).starts_with(last)) completion.words.emplace_back(word);
    }
    return completion;
  }
  if (is_fleet_word(words.front())) return complete_fleet(words);
  if (words.size() == 2) {
    std::vector<std::string> verbs = verbs_of_a_file();
    std::erase_if(verbs, [&](const std::string& verb) { return !verb.starts_with(last); });
    return {std::move(verbs), Completion::Also::nothing, {}};
  }
  const Command* command = find_command(words[1]);
  if (command == nullptr) command = find_command("history");
  return complete_option(command->options, words, 2);
}

/// The words again as one line, each as it was.
std::string line_of(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(quoted_word(word));
  return join(quoted, " ");
}

int run(Session& session, const std::string& line) {
  NoDebugger port;
  const CommandResult result = session.execute(port, line);
  fmt::print(result.ok ? stdout : stderr, "{}{}", result.text, result.ok ? "" : "\n");
  if (!result.ok) return kFailed;
  return std::max(result.quit_status, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() == "--help") {
    fmt::print(words.empty() ? stderr : stdout, "{}", help());
    return words.empty() ? kUsage : 0;
  }
  if (words.front() == "--version") return fmt::print("refhist {}\n", version()), 0;
  if (words.front() == "--help-fleet") return fmt::print("{}", all_fleet_help()), 0;  // for the man page
  if (words.front() == "--complete")
    return fmt::print("{}", completion_text(complete({words.begin() + 1, words.end()}))), 0;
  if (is_fleet_word(words.front())) return run_fleet(words);
  limit_memory(words.front());
  Session session({});
  NoDebugger port;
  const CommandResult opened = session.execute(port, "open " + line_of({words.front()}));
  if (!opened.ok) {
    fmt::print(stderr, "{}\n", opened.text);
    return kFailed;
  }
  // The verb must stand as it is: only what follows it is quoted.
  if (words.size() == 1) return run(session, "leaks");
  return run(session, words[1] + " " + line_of({words.begin() + 2, words.end()}));
}
