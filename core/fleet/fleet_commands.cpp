#include "fleet/fleet_commands.h"

#include <fmt/core.h>
#include <zstd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "base/printable.h"
#include "base/replaced_file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "base/user_path.h"
#include "fleet/answer_text.h"
#include "fleet/fleet_program.h"
#include "fleet/questions.h"
#include "fleet/run_facts.h"
#include "fleet/run_sender.h"
#include "fleet/saved_run.h"
#include "fleet/schema.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string decompressed(const std::string& frame) {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  constexpr std::size_t kLargest = std::size_t{4}
                                   << 30;  // bytes: whoever sent it may have made it to fill the memory
  const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  std::string text;
  std::string part(ZSTD_DStreamOutSize(), 0);
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  std::size_t left = 1;
  while (in.pos < in.size || left != 0) {
    ZSTD_outBuffer out{part.data(), part.size(), 0};
    const std::size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0 || (out.pos == 0 && before == in.pos) || text.size() > kLargest)
      fail("the history in the database is damaged");
    text.append(part, 0, out.pos);
  }
  return text;
}

int print(const Arguments& arguments, const Json& answer, std::string (*text)(const Json&)) {
  const std::string shown = arguments.has("--json")
                                ? answer.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                : text(answer);
  fmt::print("{}", printable(shown));
  return 0;
}

/// Throws UsageError.
std::int64_t number_of(const Arguments& arguments, const char* option, std::int64_t usual, std::int64_t least,
                       std::int64_t most) {
  std::int64_t number = 0;
  try {
    number = arguments.number(option, usual);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  if (number < least || number > most) fail_usage("{} must be {} to {}", option, least, most);
  return number;
}

Json findings_answer(Questions& questions, const Arguments& arguments) {
  constexpr std::int64_t kMost = 100'000;
  const std::int64_t most = number_of(arguments, "--last", 100, 1, kMost);
  return questions.findings(arguments.value("--branch"), arguments.has("--all"), static_cast<int>(most));
}

Json growth_answer(Questions& questions, const Arguments& arguments) {
  constexpr std::int64_t kMost = 500;
  const std::int64_t commits = number_of(arguments, "--commits", 30, 5, kMost);
  return questions.growth(arguments.value("--branch"), static_cast<int>(commits));
}

Json runs_answer(Questions& questions, const Arguments& arguments) {
  constexpr std::int64_t kMost = 10'000;
  const std::int64_t last = number_of(arguments, "--last", 30, 1, kMost);
  return questions.runs({arguments.value("--branch"), arguments.value("--run-name"),
                         arguments.value("--commit"), static_cast<int>(last)});
}

int run_compare(Questions& questions, const Arguments& arguments) {
  return print(arguments, questions.compare(arguments.words()[0], arguments.words()[1]), compare_text);
}

int run_judge(Questions& questions, const Arguments& arguments, const std::string& verb) {
  const std::string why = arguments.value("--why");
  if (why.empty()) fail_usage("--why TEXT says to the others why");
  const Json answer = questions.judge(arguments.words().front(), verb == "accept", one_line(why));
  fmt::print("{} {}\n", verb == "accept" ? "accepted" : "reopened",
             answer.at("fingerprint").get<std::string>());
  return 0;
}

int run_fetch_history(Questions& questions, const Arguments& arguments) {
  // "-o" is no long option: it stands among the words.
  const std::vector<std::string>& words = arguments.words();
  if (words[1] != "-o") fail_usage("usage: refhist fleet history RUN -o FILE");
  const std::string path = user_path(words[2]);
  expect_replaceable(path);
  replace_file(path, decompressed(questions.history(words[0])));
  fmt::print("{} written: refhist {} shows it\n", printable(path), quoted_word(words[2]));
  return 0;
}

int run_migrate(FleetDatabase& database) {
  database.run("SET statement_timeout = 0");
  const std::vector<std::string> made = migrate(database, std::atoi(environment("REFHIST_SCHEMA").c_str()));
  for (const std::string& line : made) fmt::print("{}\n", line);
  if (made.empty()) fmt::print("the schema is up to date: {}\n", schema_steps().back().version);
  return 0;
}

int run_prune(FleetDatabase& database, const Arguments& arguments) {
  constexpr std::int64_t kUsualHistories = 30;
  constexpr std::int64_t kMostDays = 36'500;
  if (!arguments.has("--older-than")) fail_usage("--older-than DAYS says which runs are thrown away");
  const std::int64_t days = number_of(arguments, "--older-than", 0, 1, kMostDays);
  const std::int64_t histories =
      number_of(arguments, "--histories-older-than", kUsualHistories, 0, kMostDays);
  database.run("SET statement_timeout = 0");
  for (const DatabaseRow& row :
       database.ask("SELECT refhist.prune($1::int * interval '1 day', $2::int * interval '1 day')",
                    {std::to_string(days), std::to_string(histories)}))
    fmt::print("thrown away: {}\n", printable(row.front().value_or("")));
  return 0;
}

RunFacts facts_of(const Arguments& arguments) {
  RunFacts facts = RunFacts::from_environment();
  facts.project = fleet_project(arguments);
  facts.name = arguments.value("--run-name");
  facts.commit = arguments.value("--commit", facts.commit);
  facts.branch = arguments.value("--branch", facts.branch);
  facts.host = arguments.value("--host", facts.host);
  for (const std::string& label : arguments.all("--label")) facts.add_label(label);
  facts.set_history(arguments.value("--send-history", "never"));
  return facts;
}

/// Which files could not be read is told; the others are put into the spool. Returns the last one's record.
std::string spool_files(Spool& spool, const Arguments& arguments, int& status) {
  const RunFacts facts = facts_of(arguments);
  std::string last;
  for (const std::string& word : arguments.words()) {
    try {
      const std::string path = user_path(word);
      std::size_t findings = 0;
      const std::string record = saved_run_record(path, facts, findings);
      const bool whole = facts.history == SendHistory::always ||
                         (facts.history == SendHistory::on_findings && findings != 0);
      std::vector<std::string> told;
      last = spool.put(record, whole ? path : "", told);
      for (const std::string& line : told) fmt::print(stderr, "refhist: {}\n", printable(line));
    } catch (const Error& error) {
      fmt::print(stderr, "refhist: {}\n", printable(error.what()));
      status = 1;
    }
  }
  return last;
}

}  // namespace

std::string fleet_target(const Arguments& arguments) {
  const std::string given = arguments.value("--database");
  refuse_password(given);
  if (!given.empty()) return given;
  const std::string own = environment("REFHIST_FLEET");
  return own.empty() ? environment(kTargetVariable) : own;
}

std::string fleet_project(const Arguments& arguments) {
  return arguments.value("--project", RunFacts::from_environment().project);
}

int run_fleet_verb(const std::string& verb, const Arguments& arguments) {
  FleetDatabase database(fleet_target(arguments), kFleetSeconds);
  if (verb == "migrate") return run_migrate(database);
  expect_schema(database);
  if (verb == "prune") return run_prune(database, arguments);
  Questions questions(database, fleet_project(arguments));
  if (verb == "compare") return run_compare(questions, arguments);
  if (verb == "history") return run_fetch_history(questions, arguments);
  if (verb == "accept" || verb == "reopen") return run_judge(questions, arguments, verb);
  if (verb == "show") return print(arguments, questions.show(arguments.words().front()), show_text);
  if (verb == "since")
    return print(arguments, questions.since(arguments.words().front(), arguments.value("--branch")),
                 since_text);
  if (verb == "growth") return print(arguments, growth_answer(questions, arguments), growth_text);
  if (verb == "runs") return print(arguments, runs_answer(questions, arguments), runs_text);
  return print(arguments, findings_answer(questions, arguments), findings_text);
}

int run_send(const Arguments& arguments) {
  const std::string given = arguments.value("--to");
  refuse_password(given);
  const std::string target = given.empty() ? environment(kTargetVariable) : given;
  if (target.empty()) fail_usage("where to? --to URL, or REFHIST_SEND (service=NAME of a service file)");
  Spool spool(target);
  int status = 0;
  const std::string last = spool_files(spool, arguments, status);
  if (last.empty() && status != 0) return status;
  return std::max(status, run_deliver(target, last));
}

int run_deliver(const std::string& target, const std::string& record) {
  Spool spool(target);
  try {
    FleetDatabase database(target, kFleetSeconds);
    const SpoolDelivery delivery = send_spooled(database, spool, record);
    for (const std::string& line : delivery.told) fmt::print("{}\n", one_line(line));
    return delivery.refused ? 1 : 0;
  } catch (const DatabaseError& error) {
    fmt::print("{}: {}; kept in {}, the next send takes it along\n",
               record.empty() || Spool::is_there(record) ? "not sent" : "sent, but not counted yet",
               one_line(error.what()), printable(spool.folder()));
    return 1;
  }
}

int run_known(const std::string& target, const std::string& project, const std::string& branch) {
  std::vector<std::string> fingerprints;
  for (std::string line; std::getline(std::cin, line);) fingerprints.push_back(line);
  FleetDatabase database(target, kFleetSeconds);
  Questions questions(database, project);
  for (const std::string& fingerprint : questions.seen_on(branch, fingerprints))
    fmt::print("{}\n", fingerprint);
  return 0;
}

}  // namespace refhist
