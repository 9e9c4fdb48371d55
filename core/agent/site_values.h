// How a counter's bytes and a call's result are read: the same in the program and in the debugger.
#pragma once

#include <stdint.h>

namespace refhist::agent {

inline int64_t signed_value(uint64_t raw, unsigned size) {
  switch (size) {
    case 1:
      return static_cast<int8_t>(raw);
    case 2:
      return static_cast<int16_t>(raw);
    case 4:
      return static_cast<int32_t>(raw);
    default:
      return static_cast<int64_t>(raw);
  }
}

/// References, from the counter's `size` bytes.
inline int64_t references(uint64_t raw, unsigned size, unsigned shift, int64_t scale, int64_t bias) {
  return scale * (signed_value(raw, size) >> shift) + bias;
}

/// `success`: 0 always, 1 nonzero, 2 zero, 3 nonnegative int, 4 true bool.
inline bool call_succeeded(unsigned success, uint64_t result) {
  switch (success) {
    case 0:
      return true;
    case 1:
      return result != 0;
    case 2:
      return static_cast<uint32_t>(result) == 0;
    case 3:
      return static_cast<int32_t>(result) >= 0;
    case 4:
      return static_cast<uint8_t>(result) != 0;
    default:
      return false;
  }
}

}  // namespace refhist::agent
