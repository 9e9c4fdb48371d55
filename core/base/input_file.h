// Files that the user or somebody else names for reading.
#pragma once

#include <cstdint>
#include <string>

#include "base/open_file.h"

namespace refhist {

constexpr std::uint64_t kLargestInput = std::uint64_t{256} << 20;  ///< bytes

/// A regular file, open for reading. Opening waits for nobody.
class InputFile {
 public:
  /// Throws Error with the path: it is not there, not readable, or something other than a regular file (a
  /// pipe, a device, a folder).
  explicit InputFile(const std::string& path);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// All of it. Throws Error when it is larger than that.
  [[nodiscard]] std::string text(std::uint64_t most = kLargestInput) const;

 private:
  std::string path_;
  OpenFile file_;
  std::uint64_t size_ = 0;
};

}  // namespace refhist
