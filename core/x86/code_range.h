// A run of bytes and where it stands in memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/types.h"

namespace refhist {

/// The bytes are the original ones (of the file), never what a debugger or a patch has put there.
struct CodeRange {
  Address address = 0;
  std::span<const std::uint8_t> bytes;

  [[nodiscard]] Address end() const { return address + bytes.size(); }
  [[nodiscard]] bool contains(Address at) const { return at - address < bytes.size(); }
  /// From `at` to the end; empty when `at` lies outside.
  [[nodiscard]] CodeRange from(Address at) const {
    if (!contains(at)) return {at, {}};
    return {at, bytes.subspan(at - address)};
  }
};

}  // namespace refhist
