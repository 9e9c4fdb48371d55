// refhist-fleet: `refhist fleet` and `refhist send`. Users start it by those names.
#include <fmt/core.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include "base/printable.h"
#include "base/usage_error.h"
#include "fleet/fleet_commands.h"
#include "fleet/fleet_database.h"
#include "fleet/fleet_program.h"
#include "fleet/fleet_table.h"
#include "fleet/page_server.h"

namespace {

using namespace refhist;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int tell(const char* what, int status) {
  fmt::print(stderr, "refhist: {}\n", printable(what));
  return status;
}

int run_verb(const std::string& verb, const Arguments& arguments) {
  try {
    if (verb == "send") return run_send(arguments);
    if (verb == "serve")
      return serve_pages(fleet_target(arguments), fleet_project(arguments),
                         arguments.value("--listen", "127.0.0.1:8080"));
    return run_fleet_verb(verb, arguments);
  } catch (const UsageError& error) {
    return tell(error.what(), kUsage);
  } catch (const std::exception& error) {
    return tell(error.what(), kFailed);
  }
}

/// What refhist-run asks for.
int run_internal(const std::vector<std::string>& words) {
  const char* target = std::getenv(kTargetVariable);
  const std::string database = target == nullptr ? "" : target;
  try {
    if (words[0] == "deliver" && words.size() == 2) return run_deliver(database, words[1]);
    if (words[0] == "known" && words.size() == 3) return run_known(database, words[1], words[2]);
  } catch (const std::exception& error) {
    return tell(error.what(), kFailed);
  }
  return tell("start it as refhist fleet", kUsage);
}

int main_guarded(std::vector<std::string> words) {
  if (words.empty() || words.front() == "--help" || words.front() == "help") {
    fmt::print(words.empty() ? stderr : stdout, "{}", fleet_help());
    return words.empty() ? kUsage : 0;
  }
  if (words.front() == "deliver" || words.front() == "known") return run_internal(words);
  try {
    const FleetVerb& verb = find_fleet_verb(words.front());
    words.erase(words.begin());
    if (!words.empty() && words.front() == "--help") return fmt::print("{}", fleet_help(verb)), 0;
    const Arguments arguments(words, verb.options, (verb.verb == "send" ? "" : "fleet ") + verb.verb);
    expect_words_of(verb, arguments.words());
    return run_verb(verb.verb, arguments);
  } catch (const Error& error) {
    return tell(error.what(), kUsage);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a database that goes away is told of
  return main_guarded(std::vector<std::string>(argv + 1, argv + argc));
}
