#include "fleet/fleet_database.h"

#include <fmt/core.h>
#include <libpq-fe.h>

#include <array>
#include <memory>

#include "base/printable.h"
#include "base/text.h"

namespace refhist {

namespace {

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

/// libpq says much over several lines.
std::string first_line(std::string_view text) {
  std::vector<std::string> lines = split(trim(text), '\n');
  return one_line(trim(lines.front()));
}

std::vector<const char*> pointers_of(const std::vector<std::string>& parameters) {
  std::vector<const char*> pointers;
  for (const std::string& parameter : parameters) pointers.push_back(parameter.c_str());
  return pointers;
}

}  // namespace

bool DatabaseError::is_refusal() const {
  // Ours, and what is wrong with data whoever sends it: no such encoding, too long, against a rule.
  return state_.starts_with("RH") || state_.starts_with("22") || state_.starts_with("23");
}

FleetDatabase::FleetDatabase(const std::string& target, int seconds) {
  const std::string wait = std::to_string(seconds);
  const std::string milliseconds = std::to_string(seconds * 1000);
  const std::string options = fmt::format("-c statement_timeout={} -c search_path=pg_catalog", milliseconds);
  const std::array names = {"dbname",
                            "connect_timeout",
                            "tcp_user_timeout",
                            "options",
                            "client_encoding",
                            "fallback_application_name",
                            static_cast<const char*>(nullptr)};
  const std::array values = {target.empty() ? nullptr : target.c_str(),
                             wait.c_str(),
                             milliseconds.c_str(),
                             options.c_str(),
                             "UTF8",
                             "refhist",
                             static_cast<const char*>(nullptr)};
  connection_ = PQconnectdbParams(names.data(), values.data(), 1);
  if (PQstatus(connection_) == CONNECTION_OK) {
    PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    return;
  }
  const std::string why = connection_ == nullptr ? "out of memory" : first_line(PQerrorMessage(connection_));
  PQfinish(connection_);
  throw DatabaseError(fmt::format("the database cannot be reached: {}", why), "");
}

FleetDatabase::~FleetDatabase() { PQfinish(connection_); }

void FleetDatabase::fail_with(const pg_result* result) const {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string code = state == nullptr ? "" : state;
  std::string text = message != nullptr ? one_line(message) : first_line(PQerrorMessage(connection_));
  if (code == "3F000" || code == "42P01" || code == "42883")
    text = "the database has no schema of refhist, or an older one: its owner runs refhist fleet migrate (" +
           text + ")";
  if (code == "42501")
    text += ": grant this user refhist_sender, refhist_reader or refhist_triage (docs/fleet.md)";
  if (code == "57014") text = "the database took too long";
  throw DatabaseError(text, code);
}

std::vector<DatabaseRow> FleetDatabase::rows_of(pg_result* raw) const {
  const Result result(raw);
  const ExecStatusType status = PQresultStatus(raw);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail_with(raw);
  std::vector<DatabaseRow> rows(static_cast<std::size_t>(PQntuples(raw)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int column = 0; column < PQnfields(raw); ++column) {
      const int row = static_cast<int>(i);
      if (PQgetisnull(raw, row, column) != 0) {
        rows[i].emplace_back();
      } else {
        rows[i].emplace_back(std::string(PQgetvalue(raw, row, column),
                                         static_cast<std::size_t>(PQgetlength(raw, row, column))));
      }
    }
  }
  return rows;
}

void FleetDatabase::run(const std::string& sql) { rows_of(PQexec(connection_, sql.c_str())); }

std::vector<DatabaseRow> FleetDatabase::ask(const std::string& sql,
                                            const std::vector<std::string>& parameters) {
  const std::vector<const char*> values = pointers_of(parameters);
  return rows_of(PQexecParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr,
                              values.data(), nullptr, nullptr, 0));
}

std::string FleetDatabase::value(const std::string& sql, const std::vector<std::string>& parameters) {
  const std::vector<DatabaseRow> rows = ask(sql, parameters);
  return rows.empty() ? std::string() : rows.front().front().value_or("");
}

void FleetDatabase::copy(const std::string& sql, const std::string& rows) {
  {
    const Result begun(PQexec(connection_, sql.c_str()));
    if (PQresultStatus(begun.get()) != PGRES_COPY_IN) fail_with(begun.get());
  }
  const bool given = PQputCopyData(connection_, rows.data(), static_cast<int>(rows.size())) == 1;
  PQputCopyEnd(connection_, given ? nullptr : "the data could not be sent");
  while (PGresult* next = PQgetResult(connection_)) rows_of(next);
  if (!given) throw DatabaseError(first_line(PQerrorMessage(connection_)), "");
}

void FleetDatabase::give(const std::string& sql, const std::vector<std::string>& parameters,
                         const std::string& bytes) {
  std::vector<const char*> values = pointers_of(parameters);
  values.push_back(bytes.data());
  std::vector<int> lengths(values.size(), 0);
  std::vector<int> formats(values.size(), 0);
  lengths.back() = static_cast<int>(bytes.size());
  formats.back() = 1;
  rows_of(PQexecParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                       lengths.data(), formats.data(), 0));
}

std::string FleetDatabase::array_of(const std::vector<std::string>& words) {
  return "{" + join(words, ",") + "}";
}

std::string FleetDatabase::copied(const std::string& text) {
  std::string field;
  for (const char c : text) {
    if (c == '\\') {
      field += "\\\\";
    } else if (c == '\n') {
      field += "\\n";
    } else if (c == '\t') {
      field += "\\t";
    } else if (c == '\r') {
      field += "\\r";
    } else {
      field += c;
    }
  }
  return field;
}

}  // namespace refhist
