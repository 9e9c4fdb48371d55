// FNV-1a: the same number for the same bytes, in every run and on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refhist {

class TextHash {
 public:
  TextHash& add(std::uint8_t byte) {
    hash_ = (hash_ ^ byte) * 0x100000001b3ULL;
    return *this;
  }
  TextHash& add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>(c));
    return *this;
  }
  [[nodiscard]] std::string hex() const;  ///< 16 digits

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace refhist
