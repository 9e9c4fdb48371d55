// Files of ours that replace older ones as a whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refhist {

/// A file that is being made beside the place where it will stand.
class ReplacedFile {
 public:
  /// Throws Error when something other than a regular file stands there.
  explicit ReplacedFile(const std::string& path);
  /// Throws away what is not finished.
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;
  /// What is to be written.
  [[nodiscard]] const std::string& unfinished() const { return unfinished_; }
  /// Makes it safe on the disk and puts it in its place. Returns its size in bytes. Throws Error.
  std::uint64_t finish();

 private:
  std::string path_;
  std::string unfinished_;
};

/// Throws Error with the path when replace_file could not begin now.
void expect_replaceable(const std::string& path);

/// The file becomes this text; what is no regular file (a pipe, a terminal) gets it as it is. Throws Error
/// with the path.
void replace_file(const std::string& path, std::string_view text);

}  // namespace refhist
