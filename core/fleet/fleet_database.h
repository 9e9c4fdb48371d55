// A connection to the PostgreSQL database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

struct pg_conn;
struct pg_result;

namespace refhist {

/// What the database, or the way to it, said: one line.
class DatabaseError : public Error {
 public:
  DatabaseError(const std::string& message, std::string state) : Error(message), state_(std::move(state)) {}
  /// SQLSTATE; empty: there was no connection.
  [[nodiscard]] const std::string& state() const { return state_; }
  /// The same will never be taken, however often it is tried.
  [[nodiscard]] bool is_refusal() const;

 private:
  std::string state_;
};

/// NULL is none.
using DatabaseRow = std::vector<std::optional<std::string>>;

class FleetDatabase {
 public:
  /// `target`: an address, "service=NAME", or empty: what PGSERVICE, PGHOST and the like say. Nothing waits
  /// longer than `seconds`. Throws DatabaseError.
  FleetDatabase(const std::string& target, int seconds);
  ~FleetDatabase();
  FleetDatabase(const FleetDatabase&) = delete;
  FleetDatabase& operator=(const FleetDatabase&) = delete;

  /// Statements without parameters, or one with. Throws DatabaseError.
  void run(const std::string& sql);
  std::vector<DatabaseRow> ask(const std::string& sql, const std::vector<std::string>& parameters = {});
  /// The only value of the only row; empty where that is NULL, or there is no row.
  std::string value(const std::string& sql, const std::vector<std::string>& parameters = {});
  /// `sql`: COPY … FROM STDIN; `rows`: in COPY's text format. Throws DatabaseError.
  void copy(const std::string& sql, const std::string& rows);
  /// A statement whose last parameter is bytes. Throws DatabaseError.
  void give(const std::string& sql, const std::vector<std::string>& parameters, const std::string& bytes);
  /// {a,b}: the text of an array of words that have no quotes, commas or blanks.
  static std::string array_of(const std::vector<std::string>& words);
  /// A field of a row of COPY.
  static std::string copied(const std::string& text);

 private:
  [[noreturn]] void fail_with(const pg_result* result) const;
  std::vector<DatabaseRow> rows_of(pg_result* result) const;

  pg_conn* connection_;
};

}  // namespace refhist
