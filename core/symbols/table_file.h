// Tables of plain numbers and texts, in memory as in a file, so that what was computed once is mapped the
// next time. For this machine only; another version of the program makes its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refhist {

class TableFile {
 public:
  TableFile() = default;
  /// Tables for table(0), table(1), … ; `kind` and `version` say what they are. Nothing is copied: `owner`
  /// keeps the bytes.
  TableFile(std::uint32_t kind, std::uint32_t version, std::span<const std::span<const std::byte>> tables,
            std::shared_ptr<const void> owner);
  /// A file that `save` has written; empty when it is not there, is damaged or of another kind or version.
  static TableFile open(const std::string& path, std::uint32_t kind, std::uint32_t version);
  /// What this process has just saved: nobody has to look whether it is whole.
  static TableFile open_own(const std::string& path, std::uint32_t kind, std::uint32_t version);

  [[nodiscard]] bool empty() const { return tables_.empty(); }
  /// The table's rows; none when there is no such table. They stay as long as a copy of this object does.
  template <class Row>
  [[nodiscard]] std::span<const Row> table(std::size_t number) const {
    const std::span<const std::byte> bytes = table_bytes(number);
    return {reinterpret_cast<const Row*>(bytes.data()), bytes.size() / sizeof(Row)};
  }
  /// A run of a table of characters; empty when it does not lie inside.
  [[nodiscard]] std::string_view text(std::size_t number, std::uint64_t at, std::uint64_t length) const;

  /// False when it could not be written. Whoever opens the path sees the old file or the whole new one.
  [[nodiscard]] bool save(const std::string& path) const;

 private:
  [[nodiscard]] bool write(int descriptor) const;
  [[nodiscard]] std::span<const std::byte> table_bytes(std::size_t number) const {
    return number < tables_.size() ? tables_[number] : std::span<const std::byte>();
  }

  std::uint32_t kind_ = 0;
  std::uint32_t version_ = 0;
  std::shared_ptr<const void> owner_;  // of the bytes: memory, or a mapping
  std::vector<std::span<const std::byte>> tables_;
};

}  // namespace refhist
