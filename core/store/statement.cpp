#include "store/statement.h"

#include <sqlite3.h>

#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace refhist {

Statement::Statement(sqlite3* database, std::string_view sql) : database_(database) {
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr) !=
      SQLITE_OK)
    fail("{}", sqlite3_errmsg(database));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

void Statement::bind(int column, std::int64_t value) { sqlite3_bind_int64(statement_, column + 1, value); }

void Statement::bind_null(int column) { sqlite3_bind_null(statement_, column + 1); }

void Statement::bind(int column, std::string_view value) {
  // Not copied: the value lives until the row is written.
  sqlite3_bind_text64(statement_, column + 1, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind(int column, std::span<const std::uint8_t> value) {
  sqlite3_bind_blob64(statement_, column + 1, value.data(), value.size(), SQLITE_STATIC);
}

void Statement::run() {
  const int result = sqlite3_step(statement_);
  sqlite3_reset(statement_);
  if (result != SQLITE_DONE) fail("{}", sqlite3_errmsg(database_));
}

bool Statement::next() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  const std::string why = result == SQLITE_DONE ? std::string() : sqlite3_errmsg(database_);
  sqlite3_reset(statement_);
  if (!why.empty()) fail("{}", why);
  return false;
}

void Statement::ask(std::int64_t parameter) {
  sqlite3_reset(statement_);
  bind(0, parameter);
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_, column); }

std::uint32_t Statement::small(int column, std::uint32_t most) const {
  const std::int64_t value = number(column);
  if (value < 0 || value > most)
    fail("{} in column {} is out of range", value, sqlite3_column_name(statement_, column));
  return static_cast<std::uint32_t>(value);
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::uint64_t Statement::row_bytes() const {
  std::uint64_t bytes = 0;
  for (int column = 0; column < sqlite3_column_count(statement_); ++column) {
    const int type = sqlite3_column_type(statement_, column);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB)
      bytes += static_cast<std::uint64_t>(sqlite3_column_bytes(statement_, column));
  }
  return bytes;
}

std::optional<std::size_t> Statement::index(int column, std::size_t count) const {
  if (is_null(column)) return std::nullopt;
  const std::int64_t value = number(column);
  if (value < 0 || static_cast<std::uint64_t>(value) >= count)
    fail("{} in column {} refers to nothing", value, sqlite3_column_name(statement_, column));
  return static_cast<std::size_t>(value);
}

std::string Statement::text(int column) const { return one_line(lines(column)); }

std::string Statement::lines(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return text == nullptr ? std::string()
                         : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

std::vector<std::uint8_t> Statement::blob(int column) const {
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::vector<std::uint8_t>() : std::vector<std::uint8_t>(bytes, bytes + size);
}

}  // namespace refhist
