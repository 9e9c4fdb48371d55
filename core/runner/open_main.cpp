// refhist: the reports of a saved history, without a debugger.
#include <fmt/core.h>

#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "runner/no_debugger.h"
#include "session/session.h"

namespace {

using namespace refhist;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

const char* const kHelp =
    "refhist FILE [COMMAND...]\n"
    "  what the command (default: leaks) tells of a history that refhist save or refhist-run --save wrote:\n"
    "  ADDR, status, objects, leaks, balance, usage, diff, check, export, help\n"
    "  exit status: that of check; 0 for others, 1 for an error, 2 for wrong usage\n";

/// The words again as one line, each as it was.
std::string line_of(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back("'" + replace_all(word, "'", "'\\''") + "'");
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
    fmt::print(words.empty() ? stderr : stdout, "{}", kHelp);
    return words.empty() ? kUsage : 0;
  }
  if (words.front() == "--version") return fmt::print("refhist {}\n", version()), 0;
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
