#include "store/database.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/interruption.h"

namespace refhist {

namespace {

constexpr int kStepsBetweenQuestions = 1 << 16;
constexpr std::uint64_t kLongestValue = 1 << 30;     // bytes; SQLite's own limit
constexpr std::uint64_t kShortestLimit = 64 * 1024;  // the schema is a value as well
constexpr int kLongestStatement = 64 * 1024;
constexpr int kMostColumns = 64;

/// A statement over a damaged or hostile file may take for ever: the user can stop it.
int ask_user(void*) {
  try {
    Interruption::check([] { return std::string("reading the file"); });
    return 0;
  } catch (const Interrupted&) {
    return 1;
  }
}

}  // namespace

namespace {

/// Nobody writes the file while it is read, and a journal beside it is nobody's.
std::string unchanging(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    uri += std::isalnum(byte) != 0 || c == '/' ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

void trust_nothing(sqlite3* database, std::uint64_t size) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  const std::uint64_t longest = std::clamp(size, kShortestLimit, kLongestValue);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, static_cast<int>(longest));
  sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, kLongestStatement);
  sqlite3_limit(database, SQLITE_LIMIT_COLUMN, kMostColumns);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_progress_handler(database, kStepsBetweenQuestions, ask_user, nullptr);
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database Database::create(const std::string& path) {
  Database made;
  sqlite3* database = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  made.database_.reset(database);
  if (result != SQLITE_OK) fail("{}", sqlite3_errmsg(database));
  made.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=4096; BEGIN");
  return made;
}

Database Database::read(const std::string& path, std::uint64_t size) {
  Database opened;
  sqlite3* database = nullptr;
  const int result =
      sqlite3_open_v2(unchanging(path).c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  opened.database_.reset(database);
  if (result != SQLITE_OK) fail("{}", sqlite3_errmsg(database));
  trust_nothing(database, size);
  opened.run("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON");
  return opened;
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail("{}", sqlite3_errmsg(database_.get()));
}

std::int64_t Database::number(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.next() ? statement.number(0) : 0;
}

void Database::close() {
  run("COMMIT");
  const int result = sqlite3_close(database_.get());
  if (result != SQLITE_OK) fail("{}", sqlite3_errstr(result));
  (void)database_.release();
}

}  // namespace refhist
