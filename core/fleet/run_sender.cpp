#include "fleet/run_sender.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include "base/input_file.h"
#include "base/text.h"
#include "fleet/run_record.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPart = std::size_t{1} << 20;  // bytes of a history
constexpr const char* kNull = "\\N";
constexpr std::size_t kMostTold = 8;   // rows that were refused
constexpr std::size_t kBacklog = 200;  // records that one send takes along

std::string dumped(const Json& json) {
  return FleetDatabase::copied(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<std::string> fingerprints_of(const Json& record) {
  std::vector<std::string> all;
  for (const Json& finding : record.at("findings")) {
    const std::string fingerprint = finding.at("fingerprint").get<std::string>();
    // What is none must not become part of an array's text.
    const bool plain = std::all_of(fingerprint.begin(), fingerprint.end(),
                                   [](unsigned char c) { return std::isalnum(c) != 0; });
    if (plain && !fingerprint.empty()) all.push_back(fingerprint);
  }
  return all;
}

/// In COPY's text format. Only wanted findings are described.
std::string rows_of(const Json& record, const std::set<std::string>& wanted) {
  std::string rows = fmt::format("r\t{0}\t{0}\t{0}\t{0}\t{0}\t{0}\t{1}\n", kNull, dumped(record.at("run")));
  for (const Json& finding : record.at("findings")) {
    const std::string fingerprint = finding.at("fingerprint").get<std::string>();
    const std::string detail = wanted.contains(fingerprint) ? dumped(finding.at("detail")) : kNull;
    rows += fmt::format("f\t{1}\t{2}\t{0}\t{0}\t{0}\t{0}\t{3}\n", kNull, FleetDatabase::copied(fingerprint),
                        finding.at("alike").get<std::int64_t>(), detail);
  }
  for (const Json& place : record.at("places")) {
    rows += fmt::format("p\t{}", kNull);
    for (const Json& number : place.at("numbers")) rows += fmt::format("\t{}", number.get<std::int64_t>());
    rows += fmt::format("\t{}\n", dumped(place.at("place")));
  }
  return rows;
}

std::string run_words(const SentRun& sent, const Json& record) {
  const std::size_t findings = record.at("findings").size();
  std::string text = fmt::format("{} as run {}: {}", sent.already ? "already there" : "sent",
                                 sent.run.substr(0, 8), plural(findings, "finding"));
  if (sent.fresh != 0) text += fmt::format(", {} new to the project", sent.fresh);
  return text;
}

/// Throws Error when it is damaged, or no record.
Json read_record(const std::string& path) {
  Json record = Json::parse(InputFile(path).text(), nullptr, false);
  if (!record.is_object() || record.value("schema", "") != kRunRecordSchema)
    throw DatabaseError(fmt::format("{} is no run of refhist, or one of another version", path), "RH001");
  return record;
}

}  // namespace

SentRun RunSender::send_rows(const Json& record) {
  const std::string project = record.at("run").at("project").get<std::string>();
  const std::vector<DatabaseRow> unknown = database_.ask(
      "SELECT refhist.wanted($1, $2)", {project, FleetDatabase::array_of(fingerprints_of(record))});
  std::set<std::string> wanted;
  for (const DatabaseRow& row : unknown) wanted.insert(row.front().value_or(""));
  database_.copy("COPY refhist.incoming (kind, key, n1, n2, n3, n4, n5, body) FROM STDIN",
                 rows_of(record, wanted));
  SentRun sent;
  sent.fresh = wanted.size();
  for (const DatabaseRow& row : database_.ask("SELECT state, run, reason FROM refhist.take_run()")) {
    if (row[0] == "refused") {
      sent.refused.push_back(row[2].value_or(""));
    } else {
      sent.run = row[1].value_or("");
      sent.already = row[0] == "already";
    }
  }
  return sent;
}

void RunSender::send_history(const std::string& run, const Json& header, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string part(kPart, 0);
  for (int number = 0; file.read(part.data(), kPart) || file.gcount() != 0; ++number) {
    database_.give(
        "SELECT refhist.add_history($1, 'epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3, "
        "$4)",
        {run, std::to_string(header.at("started_us").get<std::int64_t>()), std::to_string(number)},
        part.substr(0, static_cast<std::size_t>(file.gcount())));
  }
}

SentRun RunSender::send(const Json& record, const std::string& history) {
  try {
    database_.run("BEGIN");
    SentRun sent = send_rows(record);
    if (!history.empty() && !sent.already) send_history(sent.run, record.at("run"), history);
    database_.run("COMMIT");
    return sent;
  } catch (const nlohmann::json::exception& error) {
    database_.run("ROLLBACK");
    throw DatabaseError(fmt::format("the run is damaged: {}", error.what()), "RH001");
  } catch (const DatabaseError&) {
    try {
      database_.run("ROLLBACK");
    } catch (const DatabaseError&) {  // the connection is gone: the database has done it
    }
    throw;
  }
}

void RunSender::fold() {
  constexpr int kAttempts = 3;
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (int attempt = 0; attempt < kAttempts;) {
    const int counted = std::atoi(database_.value("SELECT refhist.fold()").c_str());
    if (counted == 0) return;
    if (counted > 0) continue;
    // Somebody counts, and asks again until nothing is left. He may have asked the last time just before.
    std::this_thread::sleep_for(kPause);
    ++attempt;
  }
}

SpoolDelivery send_spooled(FleetDatabase& database, Spool& spool, const std::string& record) {
  RunSender sender(database);
  SpoolDelivery delivery;
  std::vector<std::string>& told = delivery.told;
  const auto send = [&](const std::string& path) {
    try {
      const Json json = read_record(path);
      const SentRun sent = sender.send(json, Spool::history_of(path));
      Spool::remove(path);
      if (path == record) told.push_back(run_words(sent, json));
      for (std::size_t i = 0; i < std::min(sent.refused.size(), kMostTold); ++i)
        told.push_back("the database refused a row: " + sent.refused[i]);
      if (sent.refused.size() > kMostTold)
        told.push_back(fmt::format("and {} more rows", sent.refused.size() - kMostTold));
    } catch (const DatabaseError& error) {
      if (!error.is_refusal()) throw;
      Spool::refuse(path);
      delivery.refused = true;
      told.push_back(fmt::format("the database refuses a run ({}.refused): {}", path, error.what()));
    } catch (const Error&) {  // somebody else has just sent it
    }
  };
  if (!record.empty()) send(record);
  std::size_t others = 0;
  if (spool.lock_backlog()) {
    for (const std::string& path : spool.records()) {
      if (others == kBacklog) break;
      if (std::ifstream(path).good()) send(path), ++others;
    }
  }
  if (others != 0)
    told.push_back(
        fmt::format("{} that waited sent along", others == 1 ? "1 run" : fmt::format("{} runs", others)));
  sender.fold();
  return delivery;
}

}  // namespace refhist
