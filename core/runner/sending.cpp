#include "runner/sending.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "fleet/fleet_program.h"
#include "fleet/run_record.h"
#include "fleet/spool.h"

namespace refhist {

namespace {

bool wants_history(const Check& check, const RunOptions& options, const std::string& history) {
  std::error_code error;
  if (!std::filesystem::exists(history, error)) return false;
  return options.facts.history == SendHistory::always ||
         (options.facts.history == SendHistory::on_findings && !check.findings.empty());
}

std::string first_line_of(const std::string& text) { return std::string(trim(split(text, '\n').front())); }

/// What it has to say, or why it has not.
std::string answer_text(const FleetAnswer& answer, double seconds) {
  if (!answer.in_time) return fmt::format("no answer within {:g} seconds (--send-timeout)", seconds);
  return first_line_of(answer.messages.empty() ? answer.text : answer.messages);
}

}  // namespace

std::vector<std::string> known_on_branch(const RunOptions& options,
                                         const std::vector<std::string>& fingerprints) {
  const FleetAnswer answer =
      ask_fleet_program({"known", options.facts.project, options.new_against}, options.send,
                        join(fingerprints, "\n") + (fingerprints.empty() ? "" : "\n"), options.send_seconds);
  if (answer.status != 0 || !answer.in_time) {
    const std::string why = answer_text(answer, options.send_seconds);
    fail("{}", why.starts_with("refhist: ") ? why.substr(9) : why);
  }
  return split(answer.text, '\n');
}

std::string send_run(const Check& check, const RunOptions& options, const std::string& debugger,
                     const std::string& history) {
  std::vector<std::string> told;
  std::string kept = "lost";
  try {
    RunFacts facts = options.facts;
    facts.debugger = debugger;
    const SourcePlaces places(options.source_root, ReadSources::all);
    const auto record = run_record(check, facts, places);
    Spool spool(options.send);
    const std::string path =
        spool.put(record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                  wants_history(check, options, history) ? history : "", told);
    kept = fmt::format("kept in {}, the next send takes it along", spool.folder());
    const FleetAnswer answer = ask_fleet_program({"deliver", path}, options.send, "", options.send_seconds);
    if (answer.in_time && (answer.status == 0 || answer.status == 1) && !answer.text.empty()) {
      for (const std::string& line : split(answer.text, '\n')) told.push_back(line);
    } else {
      told.push_back(fmt::format("not sent: {}; {}", answer_text(answer, options.send_seconds), kept));
    }
  } catch (const std::exception& error) {
    told.push_back(fmt::format("not sent: {}; {}", error.what(), kept));
  }
  std::string text;
  for (const std::string& line : told) {
    if (!line.empty()) text += fmt::format("refhist-run: {}\n", line);
  }
  return text;
}

}  // namespace refhist
