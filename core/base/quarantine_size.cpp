#include "base/quarantine_size.h"

#include <fmt/core.h>

#include "base/text.h"

namespace refhist {

namespace {
constexpr std::uint64_t kLeast = 1U << 20U;    // bytes
constexpr std::uint64_t kMost = 64U << 20U;    // bytes
constexpr std::uint64_t kMostBlocks = 200000;  // half a second, where each takes a few microseconds more
// In nanoseconds, of mprotect alone: mapping and unmapping takes twice as long. Reached in some virtual
// machines.
constexpr std::uint64_t kMostTime = 3000000000;
}  // namespace

std::string QuarantineSize::text() const {
  if (bytes == 0) return "off";
  return most_blocks != 0 ? "auto" : fmt::format("{}K", bytes >> 10U);
}

std::optional<QuarantineSize> QuarantineSize::parse(const std::string& text) {
  if (text == "off" || text == "0") return QuarantineSize{};
  if (text == "auto") return QuarantineSize{kMost, kMostBlocks, kMostTime};
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes < kLeast || *bytes > kMost) return std::nullopt;
  return QuarantineSize{*bytes, 0};
}

std::string quarantine_words() {
  return fmt::format("off, auto or a size from {}M to {}M", kLeast >> 20U, kMost >> 20U);
}

}  // namespace refhist
