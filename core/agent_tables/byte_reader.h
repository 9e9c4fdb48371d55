// Reads DWARF's numbers from a run of bytes. Beyond the end everything is 0 and `failed` is true.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace refhist {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool done() const { return at_ == end_; }
  [[nodiscard]] const char* position() const { return at_; }
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }

  /// Empty when there are not that many.
  std::string_view take(std::uint64_t count) {
    if (count > static_cast<std::uint64_t>(end_ - at_)) {
      failed_ = true;
      at_ = end_;
      return {};
    }
    const std::string_view bytes(at_, count);
    at_ += count;
    return bytes;
  }

  std::string_view string() {
    const std::size_t size = rest().find('\0');
    if (size == std::string_view::npos) return take(~std::uint64_t{0});
    const std::string_view text = take(size);
    take(1);
    return text;
  }

 private:
  const char* at_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace refhist
