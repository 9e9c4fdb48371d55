// How much freed memory is kept from the program (agent/quarantine.h), as the setting and the option say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace refhist {

/// A variable with which CPython takes each of its blocks from malloc, which makes it slow.
constexpr const char* kPythonAllocator = "PYTHONMALLOC";
constexpr const char* kPythonUsesMalloc = "malloc";

/// As `refhist set` takes it: this, and a word that QuarantineSize::parse takes.
constexpr std::string_view kQuarantineSetting = "quarantine ";

struct QuarantineSize {
  std::uint64_t bytes = 0;         ///< 0: none
  std::uint64_t most_blocks = 0;   ///< that are withheld before it ends; 0: no limit
  std::uint64_t most_time_ns = 0;  ///< that the kernel takes for withholding them, where there is a limit

  /// Of every block, that is: an interpreter's own allocator must not keep them.
  [[nodiscard]] bool takes_all() const { return bytes != 0 && most_blocks == 0; }
  /// As `parse` takes it.
  [[nodiscard]] std::string text() const;
  /// Of "off", "auto" and sizes; nothing when it is another word.
  static std::optional<QuarantineSize> parse(const std::string& text);
};

/// What such a word must be.
std::string quarantine_words();

}  // namespace refhist
