// One prepared statement of a SQLite file. Columns and parameters count from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

struct sqlite3;
struct sqlite3_stmt;

namespace refhist {

class Statement {
 public:
  /// Throws Error.
  Statement(sqlite3* database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Writes one row with these values: integers, ids (none: NULL), text, blobs. Throws Error.
  template <class... Values>
  void row(const Values&... values) {
    int column = 0;
    (bind(column++, values), ...);
    run();
  }

  /// True when there is one more row to read. Throws Error.
  bool next();
  [[nodiscard]] std::int64_t number(int column) const;
  /// Throws Error when it does not lie in 0 … `most`.
  [[nodiscard]] std::uint32_t small(int column, std::uint32_t most) const;
  [[nodiscard]] bool flag(int column) const { return small(column, 1) != 0; }
  /// NULL is none; throws Error when it is not below `count`. `offset` is added.
  template <class Some>
  [[nodiscard]] Some id(int column, std::size_t count, std::size_t offset = 0) const {
    const std::optional<std::size_t> index = this->index(column, count);
    return index ? Some(*index + offset) : Some();
  }
  /// A name or a line, with controls of any kind escaped.
  [[nodiscard]] std::string text(int column) const;
  /// Several lines, as they are.
  [[nodiscard]] std::string lines(int column) const;
  [[nodiscard]] std::vector<std::uint8_t> blob(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  /// Bytes of all texts and blobs of the row.
  [[nodiscard]] std::uint64_t row_bytes() const;
  /// To be asked again, with this parameter.
  void ask(std::int64_t parameter);

 private:
  [[nodiscard]] std::optional<std::size_t> index(int column, std::size_t count) const;
  void bind(int column, std::int64_t value);
  void bind(int column, std::uint64_t value) { bind(column, static_cast<std::int64_t>(value)); }
  void bind(int column, std::uint32_t value) { bind(column, static_cast<std::int64_t>(value)); }
  void bind(int column, std::int32_t value) { bind(column, static_cast<std::int64_t>(value)); }
  void bind(int column, bool value) { bind(column, static_cast<std::int64_t>(value)); }
  void bind(int column, std::string_view value);
  void bind(int column, const std::string& value) { bind(column, std::string_view(value)); }
  void bind(int column, const char* value) { bind(column, std::string_view(value)); }
  void bind(int column, std::span<const std::uint8_t> value);
  void bind_null(int column);
  template <class Tag>
  void bind(int column, Id<Tag> id) {
    id.valid() ? bind(column, static_cast<std::int64_t>(id.value)) : bind_null(column);
  }
  template <class Value>
  void bind(int column, const std::optional<Value>& value) {
    value ? bind(column, *value) : bind_null(column);
  }
  void run();

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace refhist
