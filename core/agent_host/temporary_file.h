// A file that the debugger reads. The front end removes it as soon as the debugger no longer does: what is
// gone earlier the debugger complains of. At the latest it is gone when the debugger ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace refhist {

class TemporaryFile {
 public:
  /// Path of a new file with this content; empty when it could not be written.
  static std::string write(std::span<const std::uint8_t> bytes);
  /// What the paths of all files of this process begin with.
  static std::string own_beginning();
};

}  // namespace refhist
