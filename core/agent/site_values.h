// How a counter's bytes and a call's result are read: the same in the program and in the debugger.
#pragma once

#include <stdint.h>

namespace refhist::agent {

/// Of small counters the upper half is in use. In the others it is what a put too many leaves.
inline bool is_read_unsigned(unsigned size, bool is_unsigned) { return is_unsigned && size <= 2; }

inline int64_t counter_value(uint64_t raw, unsigned size, bool is_unsigned) {
  if (is_read_unsigned(size, is_unsigned)) return static_cast<int64_t>(raw & ((1U << (8 * size)) - 1));
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

/// References, from the counter's `size` bytes. `bits`: how many of them from `shift` on are the counter's, 0
/// for all.
inline int64_t references(uint64_t raw, unsigned size, bool is_unsigned, unsigned shift, int64_t scale,
                          int64_t bias, unsigned bits = 0) {
  if (shift == 0 && bits == 0) return scale * counter_value(raw, size, is_unsigned) + bias;
  const unsigned above = 64 - (bits != 0 ? bits : 8 * size - shift);
  const uint64_t uppermost = raw >> shift << above;
  // Of a few bits, the uppermost is no sign.
  const bool few = is_unsigned && above >= 48;
  const int64_t value =
      few ? static_cast<int64_t>(uppermost >> above) : static_cast<int64_t>(uppermost) >> above;
  return scale * value + bias;
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
