// A SQLite file: one that is being written for the first time, or one that is only read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/statement.h"

struct sqlite3;

namespace refhist {

class Database {
 public:
  /// A new file, written without a journal: whoever makes it throws it away when something fails. Throws
  /// Error.
  static Database create(const std::string& path);
  /// A file of somebody, of whom nothing is trusted: no value of it is longer than the file, and nothing that
  /// lies beside it (a journal) is looked at. Throws Error when it is no database or cannot be read.
  static Database read(const std::string& path, std::uint64_t size);

  void run(const std::string& sql);
  [[nodiscard]] Statement prepare(std::string_view sql) const { return {database_.get(), sql}; }
  [[nodiscard]] std::int64_t number(std::string_view sql) const;
  /// Throws Error when what was written could not be.
  void close();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace refhist
