// A block of glibc's malloc.
#pragma once

#include <stdint.h>

namespace refhist::agent {

constexpr uint64_t kBlockHeader = 16;  // bytes in front of a block
constexpr uint64_t kBlockFlags = 7;    // in the lowest bits of its size
constexpr uint64_t kBlockMapped = 2;

// The header that glibc's malloc puts before a block: its size, and flags.
inline uint64_t size_and_flags(uint64_t block) { return *reinterpret_cast<const uint64_t*>(block - 8); }

inline uint64_t block_end(uint64_t block) {
  const uint64_t header = size_and_flags(block);
  return block + (header & ~kBlockFlags) - ((header & kBlockMapped) != 0 ? kBlockHeader : 8);
}

/// Bytes that the library has mapped for this block alone, with its header; 0 when it lies in a heap.
inline uint64_t mapped_size(uint64_t block) {
  const uint64_t header = size_and_flags(block);
  return (header & kBlockFlags) == kBlockMapped ? header & ~kBlockFlags : 0;
}

/// Its 8-byte word of that number, counted from 1; 0 behind its end, and for no number.
inline uint64_t word_of_block(uint64_t block, unsigned number) {
  const uint64_t at = block + 8 * (uint64_t{number} - 1);
  return number != 0 && at + 8 <= block_end(block) ? *reinterpret_cast<const uint64_t*>(at) : 0;
}

}  // namespace refhist::agent
