// What refhist-run was asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/usage_error.h"
#include "commands/command.h"
#include "explain/second_run.h"
#include "fleet/run_facts.h"
#include "history/history.h"

namespace refhist {

struct RunOptions {
  std::string debugger;               ///< "gdb", "lldb", or empty: whichever is there, gdb first
  std::vector<std::string> tracked;   ///< words for `refhist track`, one entry for each command
  std::vector<std::string> settings;  ///< words for `refhist set`
  std::vector<Verdict> fail_on;
  std::vector<std::string> families;  ///< globs that findings are told of; empty: all
  bool reachable = false;
  std::string baseline;
  bool update_baseline = false;
  std::string suppressions;
  std::string json, junit, sarif, html, save;  ///< files; empty: not wanted
  std::string source_root;
  std::string log;  ///< file for what the debugger prints; empty: thrown away
  std::optional<double> timeout_seconds;
  std::vector<std::string> followed;  ///< words for `refhist follow`, one entry for each command
  bool explain = false;               ///< leaks are run again
  double explain_seconds = kExplainSeconds;
  bool children = false;  ///< processes that the program makes are followed
  bool aslr = false;      ///< addresses are random, as without a debugger
  bool propagate_exit = false;
  bool allow_unarmed = false;
  bool quiet = false;
  std::string send;                  ///< database; empty: the run is not sent
  bool no_send = false;              ///< whatever REFHIST_SEND says
  RunFacts facts = {};               ///< that go along
  double send_seconds = 15;          ///< that sending may take
  std::string new_against;           ///< branch whose findings do not count; empty: none
  std::vector<std::string> program;  ///< with its arguments

  bool help = false;
  bool version = false;
};

/// Throws UsageError.
RunOptions parse_run_options(const std::vector<std::string>& words);
std::string run_help();
/// Name, placeholder and help of every option.
std::vector<OptionSpec> run_option_specs();

}  // namespace refhist
