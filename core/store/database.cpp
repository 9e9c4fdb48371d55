#include "store/database.h"

#include <sqlite3.h>

#include "base/error.h"
#include "base/interruption.h"

namespace refhist {

namespace {

constexpr int kStepsBetweenQuestions = 1 << 16;

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

Database Database::read(const std::string& path) {
  Database opened;
  sqlite3* database = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  opened.database_.reset(database);
  if (result != SQLITE_OK) fail("{}", sqlite3_errmsg(database));
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_progress_handler(database, kStepsBetweenQuestions, ask_user, nullptr);
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
