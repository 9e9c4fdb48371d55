// A file that debuggers read, gone when nobody needs it and at the latest when the debugger ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace refhist {

class TemporaryFile {
 public:
  /// Path of a new file with this content; empty when it could not be written.
  static std::string write(std::span<const std::uint8_t> bytes);
  static void remove(const std::string& path);
};

}  // namespace refhist
