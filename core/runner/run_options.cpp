#include "runner/run_options.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/quarantine_size.h"
#include "base/text.h"
#include "base/user_path.h"
#include "reports/verdict_list.h"

namespace refhist {

namespace {

struct Option {
  const char* name;
  const char* value;  ///< placeholder; null: a switch
  const char* help;
  std::function<void(RunOptions&, const std::string&)> take;
};

double seconds(const char* option, const std::string& text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used == text.size() && value > 0) return value;
  } catch (const std::exception&) {
  }
  throw UsageError(fmt::format("{} must be a number of seconds, not {}", option, text));
}

void set_debugger(RunOptions& options, const std::string& value) {
  if (value != "gdb" && value != "lldb")
    throw UsageError(fmt::format("--debugger must be gdb or lldb, not {}", value));
  options.debugger = value;
}

void set_fail_on(RunOptions& options, const std::string& value) {
  try {
    options.fail_on = verdicts_of(value);
  } catch (const Error& error) {
    throw UsageError(fmt::format("--fail-on: {}", error.what()));
  }
}

void set_keep(RunOptions& options, const std::string& value) {
  if (value != "all" && value != "live" && value != "suspect")
    throw UsageError(fmt::format("--keep must be all, live or suspect, not {}", value));
  options.settings.push_back("keep " + value);
}

void set_memory(RunOptions& options, const std::string& value) {
  if (!parse_bytes(value)) throw UsageError(fmt::format("--memory must be a size (512M, 2G), not {}", value));
  options.settings.push_back("memory " + value);
}

void set_quarantine(RunOptions& options, const std::string& value) {
  if (!QuarantineSize::parse(value))
    throw UsageError(fmt::format("--quarantine must be {}, not {}", quarantine_words(), value));
  options.settings.push_back(std::string(kQuarantineSetting) + value);
}

Option file_option(const char* name, const char* help, std::string RunOptions::*member) {
  return {name, "FILE", help,
          [member](RunOptions& options, const std::string& value) { options.*member = user_path(value); }};
}

Option switch_option(const char* name, const char* help, bool RunOptions::*member) {
  return {name, nullptr, help, [member](RunOptions& options, const std::string&) { options.*member = true; }};
}

std::vector<Option> run_table() {
  return {
      {"--debugger", "gdb|lldb", "which one (default: gdb if it is installed)", set_debugger},
      {"--track", "FAMILY",
       "what to track, as for `refhist track`: a family, or '--get FN --put FN'; may be repeated (default: "
       "auto)",
       [](RunOptions& options, const std::string& value) { options.tracked.push_back(value); }},
      {"--probes", "FILE", "families from a TOML file; may be repeated",
       [](RunOptions& options, const std::string& value) {
         options.tracked.push_back("--probes " + quoted_word(user_path(value)));
       }},
      {"--set", "NAME=VALUE", "a setting, as for `refhist set`; may be repeated",
       [](RunOptions& options, const std::string& value) {
         options.settings.push_back(replace_all(value, "=", " "));
       }},
      {"--keep", "all|live|suspect", "which objects keep a full history, as for `refhist set keep`",
       set_keep},
      {"--memory", "SIZE", "memory limit of the history, as for `refhist set memory` (such as 2G)",
       set_memory},
      {"--quarantine", "auto|off|SIZE",
       "stop at the instruction that uses a dead object, as for `refhist set quarantine`; auto (default): "
       "until the program has freed 200,000 blocks, or until that has cost it some seconds",
       set_quarantine},
      switch_option(
          "--children",
          "follow every process that the program starts as well, each in a debugger of its own (GDB)",
          &RunOptions::children),
      switch_option("--aslr", "leave address space randomisation on; addresses then differ from run to run",
                    &RunOptions::aslr),
      {"--timeout", "S", "kill the program after S seconds; the session then counts as failed",
       [](RunOptions& options, const std::string& value) {
         options.timeout_seconds = seconds("--timeout", value);
       }},
      switch_option("--explain", "if the program leaks, run it again and show how the reference was lost",
                    &RunOptions::explain),
      {"--explain-timeout", "S", "give up a further run after S seconds (default 120)",
       [](RunOptions& options, const std::string& value) {
         options.explain_seconds = seconds("--explain-timeout", value);
       }},
      {"--follow", "WORDS", "as for `refhist follow`: the lines that a call executes; may be repeated",
       [](RunOptions& options, const std::string& value) { options.followed.push_back(value); }},
  };
}

std::vector<Option> judgement_table() {
  return {
      {"--fail-on", "LIST", "comma-separated verdicts that count (default: leak,imbalance), or none",
       set_fail_on},
      {"--family", "GLOB", "findings of these families only; may be repeated",
       [](RunOptions& options, const std::string& value) { options.families.push_back(value); }},
      switch_option("--reachable", "count reachable objects as leaks, too", &RunOptions::reachable),
      file_option("--suppressions", "lines VERDICT:PATTERN: findings not to report",
                  &RunOptions::suppressions),
      file_option("--baseline", "file of accepted findings: only new ones count", &RunOptions::baseline),
      switch_option("--update-baseline", "accept the current findings: write them to the baseline",
                    &RunOptions::update_baseline),
  };
}

std::string non_empty(const char* option, const std::string& value) {
  if (value.empty()) throw UsageError(fmt::format("{} must not be empty", option));
  return value;
}

Option fact_option(const char* name, const char* value, const char* help, std::string RunFacts::*member) {
  return {name, value, help, [name, member](RunOptions& options, const std::string& given) {
            options.facts.*member = non_empty(name, given);
          }};
}

/// What `take` refuses is wrong usage.
Option checked_option(const char* name, const char* value, const char* help,
                      std::function<void(RunOptions&, const std::string&)> take) {
  return {name, value, help, [take](RunOptions& options, const std::string& given) {
            try {
              take(options, given);
            } catch (const Error& error) {
              throw UsageError(error.what());
            }
          }};
}

std::vector<Option> sending_table() {
  return {
      checked_option("--send", "URL",
                     "send the run to this PostgreSQL database (default: REFHIST_SEND); no password in it: "
                     "~/.pgpass or service=NAME",
                     [](RunOptions& options, const std::string& value) {
                       refuse_password(value);
                       options.send = non_empty("--send", value);
                     }),
      switch_option("--no-send", "do not send the run, whatever REFHIST_SEND says", &RunOptions::no_send),
      fact_option("--project", "NAME",
                  "the project there (default: REFHIST_PROJECT, or what GitLab and GitHub say)",
                  &RunFacts::project),
      fact_option("--run-name", "NAME",
                  "the run's name there: runs of one name are compared (default: the program's)",
                  &RunFacts::name),
      fact_option("--commit", "SHA",
                  "the commit there (default: REFHIST_COMMIT, or what GitLab and GitHub say)",
                  &RunFacts::commit),
      fact_option("--branch", "NAME",
                  "the branch there (default: REFHIST_BRANCH, or what GitLab and GitHub say)",
                  &RunFacts::branch),
      checked_option("--label", "KEY=VALUE", "anything else that is to be known of the run; may be repeated",
                     [](RunOptions& options, const std::string& value) { options.facts.add_label(value); }),
      checked_option("--send-history", "always|on-findings|never",
                     "send the whole history as well (default: never)",
                     [](RunOptions& options, const std::string& value) { options.facts.set_history(value); }),
      {"--send-timeout", "S", "give up sending after S seconds; the next run sends it along (default 15)",
       [](RunOptions& options, const std::string& value) {
         options.send_seconds = seconds("--send-timeout", value);
       }},
      {"--new-against", "BRANCH",
       "only findings that this branch's runs in the database do not have fail; without an answer the "
       "baseline is taken",
       [](RunOptions& options, const std::string& value) {
         options.new_against = non_empty("--new-against", value);
       }},
  };
}

std::vector<Option> output_table() {
  return {
      file_option("--json", "the session as JSON", &RunOptions::json),
      file_option("--junit", "the findings as JUnit XML", &RunOptions::junit),
      file_option("--sarif", "the findings as SARIF 2.1.0", &RunOptions::sarif),
      file_option("--html", "the findings as a page for a browser", &RunOptions::html),
      file_option("--save", "the history, for `refhist open`", &RunOptions::save),
      file_option("--log", "what the debugger prints", &RunOptions::log),
      {"--source-root", "DIR", "source file names are relative to it (default: the current directory)",
       [](RunOptions& options, const std::string& value) { options.source_root = user_path(value); }},
      switch_option("--propagate-exit", "without findings, exit with the program's own exit status",
                    &RunOptions::propagate_exit),
      switch_option("--allow-unarmed", "count a program that has none of the functions as clean",
                    &RunOptions::allow_unarmed),
      switch_option("--quiet", "print no report", &RunOptions::quiet),
      switch_option("--help", "this text", &RunOptions::help),
      switch_option("--version", "the version", &RunOptions::version),
  };
}

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = [] {
    std::vector<Option> all = run_table();
    for (const auto& part : {judgement_table(), sending_table(), output_table()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

Option find_option(const std::string& name) {
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    if (name == option.name) return option;
    names.emplace_back(option.name);
  }
  throw UsageError(fmt::format("no option {}{}", name, suggestion(name, names)));
}

void check_consistent(const RunOptions& options) {
  if (options.help || options.version) return;
  if (options.explain && options.aslr)
    throw UsageError("--explain compares addresses of two runs: leave out --aslr");
  if (options.program.empty()) throw UsageError("usage: refhist-run [OPTIONS] -- PROGRAM [ARGS]");
  if (options.update_baseline && options.baseline.empty())
    throw UsageError("--update-baseline needs --baseline FILE: the file to write the findings to");
  if (!options.new_against.empty() && options.send.empty())
    throw UsageError("--new-against needs a database: --send URL, or REFHIST_SEND");
  if (!options.new_against.empty() && options.update_baseline)
    throw UsageError("--update-baseline accepts what is found: leave out --new-against");
}

bool is_unlimited(__rlimit_resource resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY;
}

/// The kernel gives only as much memory as there is: blocks that take up more than they use are too dear.
bool counts_all_memory() {
  std::ifstream file("/proc/sys/vm/overcommit_memory");
  int mode = 0;
  return file >> mode && mode == 2;
}

/// Unless it was said, or what it needs is not there.
void add_quarantine(RunOptions& options) {
  const auto has = [&](std::string_view begin) {
    return std::any_of(options.settings.begin(), options.settings.end(),
                       [&](const std::string& setting) { return setting.starts_with(begin); });
  };
  if (has(kQuarantineSetting)) return;
  const bool possible = is_unlimited(RLIMIT_AS) && is_unlimited(RLIMIT_DATA) && !has("backend breakpoint") &&
                        !has("allocators off") && !counts_all_memory();
  options.settings.push_back(std::string(kQuarantineSetting) + (possible ? "auto" : "off"));
}

}  // namespace

RunOptions parse_run_options(const std::vector<std::string>& words) {
  RunOptions options;
  options.fail_on = verdicts_of("leak,imbalance");
  options.source_root = user_path(".");
  options.facts = RunFacts::from_environment();
  if (const char* target = std::getenv("REFHIST_SEND"); target != nullptr) options.send = target;
  std::size_t i = 0;
  for (; i < words.size() && words[i].starts_with('-') && words[i] != "--"; ++i) {
    const std::size_t equals = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
    const Option option = find_option(words[i].substr(0, equals));
    std::string value;
    if (option.value == nullptr) {
      if (equals != std::string::npos) throw UsageError(fmt::format("{} takes no value", option.name));
    } else if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && words[i + 1] != "--") {
      value = words[++i];
    } else {
      throw UsageError(fmt::format("{} needs a value: {} {}", option.name, option.name, option.value));
    }
    option.take(options, value);
  }
  if (i < words.size() && words[i] == "--") ++i;
  options.program.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(i, words.size())), words.end());
  if (options.no_send) options.send.clear();
  check_consistent(options);
  if (options.tracked.empty()) options.tracked.emplace_back("auto");
  add_quarantine(options);
  return options;
}

std::vector<OptionSpec> run_option_specs() {
  std::vector<OptionSpec> specs;
  for (const Option& option : option_table())
    specs.push_back({option.name, option.value == nullptr ? "" : option.value, option.help});
  return specs;
}

std::string run_help() {
  std::string text =
      "refhist-run [OPTIONS] -- PROGRAM [ARGS]\n"
      "  runs the program in a debugger, tracks its reference counts and reports what is wrong\n"
      "  exit status: 0 clean, 23 findings, 1 the session failed, 2 wrong usage\n";
  for (const Option& option : option_table()) {
    const std::string left =
        option.value == nullptr ? std::string(option.name) : fmt::format("{} {}", option.name, option.value);
    text += fmt::format("  {:<24} {}\n", left, option.help);
  }
  return text;
}

}  // namespace refhist
