#include "fleet/fleet_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace refhist {

namespace {

const OptionSpec kDatabase = {
    "--database", "URL",
    "the database, as PostgreSQL's programs name it (default: REFHIST_FLEET, REFHIST_SEND, "
    "or PGSERVICE, PGHOST and the like)"};
const OptionSpec kProject = {
    "--project", "NAME",
    "which project (default: REFHIST_PROJECT, CI_PROJECT_PATH, GITHUB_REPOSITORY, or "
    "default)"};
const OptionSpec kJson = {"--json", "", "as JSON (docs/json.md)"};
const OptionSpec kBranch = {"--branch", "NAME", "of this branch only"};

/// With what every question takes.
std::vector<OptionSpec> asking(std::vector<OptionSpec> options = {}) {
  options.insert(options.end(), {kProject, kDatabase, kJson});
  return options;
}

std::vector<OptionSpec> send_options() {
  return {{"--to", "URL", "the database (default: REFHIST_SEND)"},
          kProject,
          {"--run-name", "NAME", "the run's name: runs of one name are compared (default: the program's)"},
          {"--commit", "SHA", "the commit (default: REFHIST_COMMIT, CI_COMMIT_SHA, GITHUB_SHA)"},
          {"--branch", "NAME", "the branch (default: REFHIST_BRANCH, or what GitLab and GitHub say)"},
          {"--host", "NAME", "the machine that it ran on (default: this one)"},
          {"--label", "KEY=VALUE", "anything else; may be repeated"},
          {"--send-history", "always|on-findings|never", "send the whole history as well (default: never)"}};
}

/// "refhist fleet show FINGERPRINT"
std::string call_of(const FleetVerb& verb) {
  return fmt::format("refhist {}{}{}{}", verb.verb == "send" ? "" : "fleet ", verb.verb,
                     verb.usage.empty() ? "" : " ", verb.usage);
}

}  // namespace

const std::vector<FleetVerb>& fleet_verbs() {
  static const std::vector<FleetVerb> verbs = {
      {"findings", "", "the findings that are open: since when, where, in how many runs",
       asking({kBranch,
               {"--all", "", "also those that are accepted, or gone"},
               {"--last", "N", "the newest N (default 100)"}})},
      {"show", "FINGERPRINT", "one finding, as refhist leaks shows it, and its course", asking()},
      {"since", "FINGERPRINT", "the first commit that has it, the last without it, and how sure that is",
       asking({{"--branch", "NAME", "on this branch (default: the one with most runs)"}})},
      {"growth", "", "where more objects or bytes are alive at the end from commit to commit",
       asking({{"--branch", "NAME", "on this branch (default: the one with most runs)"},
               {"--commits", "N", "the last N commits of each run name (default 30)"}})},
      {"runs", "", "the last runs",
       asking({kBranch,
               {"--run-name", "NAME", "of this name only"},
               {"--commit", "SHA", "of the commit that begins so"},
               {"--last", "N", "so many (default 30)"}})},
      {"compare", "RUN RUN", "what the second run has and the first has not, and the other way round",
       asking()},
      {"accept",
       "FINGERPRINT",
       "it is known and shall not be shown as open",
       {{"--why", "TEXT", "the reason; it is kept with your name"}, kProject, kDatabase}},
      {"reopen",
       "FINGERPRINT",
       "it is not accepted any more",
       {{"--why", "TEXT", "the reason"}, kProject, kDatabase}},
      {"history",
       "RUN -o FILE",
       "the history that came with a run, for refhist FILE and refhist open",
       {kProject, kDatabase}},
      {"serve",
       "",
       "pages for people, until it is ended",
       {{"--listen", "HOST:PORT", "where (default 127.0.0.1:8080)"}, kProject, kDatabase}},
      {"migrate", "", "makes the schema, or brings it up to date (the database's owner)", {kDatabase}},
      {"prune",
       "",
       "throws away what is old (the database's owner)",
       {{"--older-than", "DAYS", "runs: whole months that ended before that"},
        {"--histories-older-than", "DAYS", "histories (default: 30)"},
        kDatabase}},
      {"send", "FILE...",
       "histories that refhist save or refhist-run --save wrote, and what waits in the spool",
       send_options()},
  };
  return verbs;
}

const FleetVerb& find_fleet_verb(const std::string& verb) {
  std::vector<std::string> names;
  for (const FleetVerb& one : fleet_verbs()) {
    if (one.verb == verb) return one;
    names.push_back(one.verb);
  }
  fail("no command refhist fleet {}{}", verb, suggestion(verb, names));
}

void expect_words_of(const FleetVerb& verb, const std::vector<std::string>& words) {
  const std::size_t wanted = verb.usage.empty() ? 0 : split(verb.usage, ' ').size();
  const bool any = verb.usage.ends_with("...");
  if (!any && words.size() != wanted) fail("usage: {}", call_of(verb));
}

std::string fleet_help(const FleetVerb& verb) {
  std::string text = fmt::format("{}\n  {}\n", call_of(verb), verb.summary);
  for (const OptionSpec& option : verb.options)
    text += fmt::format("    {:<24} {}\n",
                        option.value.empty() ? option.name : option.name + " " + option.value, option.help);
  return text;
}

std::string fleet_help() {
  std::string text =
      "refhist fleet COMMAND [OPTIONS]\n"
      "  asks the database that refhist-run --send and refhist send fill (docs/fleet.md)\n"
      "  exit status: 0, 1 for an error, 2 for wrong usage\n";
  for (const FleetVerb& verb : fleet_verbs())
    text +=
        fmt::format("  {:<28} {}\n", verb.verb + (verb.usage.empty() ? "" : " ") + verb.usage, verb.summary);
  return text + "  refhist fleet COMMAND --help tells its options\n";
}

std::string all_fleet_help() {
  std::string text;
  for (const FleetVerb& verb : fleet_verbs()) text += fleet_help(verb);
  return text;
}

}  // namespace refhist
