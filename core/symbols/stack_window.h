// A piece of the program's stack, read in one go and moved outward as the walk goes on.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/types.h"

namespace refhist {

class StackWindow {
 public:
  /// Forgets what was read. The next piece is small again: most stacks fit in it.
  void reset();

  /// The 8 bytes at the address. `Reader` is a MemoryReader.
  template <class Reader>
  std::optional<std::uint64_t> word(Address address, const Reader& read) {
    // Unsigned arithmetic: an address below the window gives a huge offset.
    if (address - begin_ > size_ || size_ - (address - begin_) < sizeof(std::uint64_t)) {
      if (!move(address)) return far_word(address, read);
      size_ = read(begin_, buffer_.data(), wanted_);
      if (size_ < sizeof(std::uint64_t)) return std::nullopt;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, buffer_.data() + (address - begin_), sizeof value);
    return value;
  }

 private:
  /// Prepares to read from the address on; false when it lies below the window, whose rest is still needed.
  bool move(Address address);

  template <class Reader>
  std::optional<std::uint64_t> far_word(Address address, const Reader& read) {
    std::uint64_t value = 0;
    if (read(address, &value, sizeof value) != sizeof value) return std::nullopt;
    return value;
  }

  std::vector<std::uint8_t> buffer_;
  Address begin_ = 0;
  std::size_t size_ = 0;    // bytes that could be read
  std::size_t wanted_ = 0;  // bytes to read next
};

}  // namespace refhist
