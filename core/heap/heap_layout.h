// The data structures of glibc's malloc on x86-64 as they lie in memory (versions 2.35 to 2.41). Offsets in
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace refhist::malloc_layout {

// A chunk: its header's second word is its size with three flags in the low bits; the user's memory
// begins behind it and ends behind the first word of the next header.
constexpr Address kHeader = 16;
constexpr Address kSizeField = 8;
constexpr std::uint64_t kPreviousInUse = 1;
constexpr std::uint64_t kMapped = 2;
constexpr std::uint64_t kOtherArena = 4;
constexpr std::uint64_t kFlags = 7;
constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kSmallest = 32;
constexpr std::uint64_t kFencepost = 16;  // the size that ends a heap

// struct malloc_state: one arena.
constexpr std::size_t kFastbins = 16;
constexpr std::size_t kFastbinCount = 10;
constexpr std::size_t kTop = 96;
constexpr std::size_t kBins = 112;
constexpr std::size_t kBinCount = 127;
constexpr std::size_t kNextArena = 2160;
constexpr std::size_t kSystemMemory = 2184;
constexpr std::size_t kMaxSystemMemory = 2192;
constexpr std::size_t kArenaSize = 2200;

// struct heap_info: stands at the start of every heap of an arena other than the main one. The size of
// the struct itself differs between versions: the first heap's arena follows it directly.
constexpr Address kHeapAlignment = 64 << 20;
constexpr std::size_t kHeapArena = 0;
constexpr std::size_t kHeapPrevious = 8;
constexpr std::size_t kHeapSize = 16;
constexpr Address kMaxHeapInfo = 64;

/// A part of struct malloc_par.
struct Parameters {
  std::int32_t huge_page_flags;      // hp_flags
  std::int32_t mapped_chunks;        // n_mmaps
  std::int32_t most_mapped_allowed;  // n_mmaps_max
  std::int32_t most_mapped_chunks;   // max_n_mmaps
  std::int32_t fixed_threshold;      // no_dyn_threshold: 0 or 1
  std::int32_t padding;
  std::uint64_t mapped_bytes;       // mmapped_mem
  std::uint64_t most_mapped_bytes;  // max_mmapped_mem
  Address sbrk_base;
  std::uint64_t tcache_bins;
  std::uint64_t tcache_largest;  // tcache_max_bytes
};

// struct tcache_perthread_struct: the numbers of free blocks, then the first of each.
constexpr std::size_t kTcacheBins = 64;
constexpr std::uint64_t kTcacheChunk = 0x290;
constexpr std::uint64_t kTcacheStep = 16;  // bin i holds chunks of kSmallest + i * kTcacheStep bytes

/// The link of a tcache or fastbin list that is stored at `place`.
constexpr Address reveal(Address place, std::uint64_t stored) { return (place >> 12) ^ stored; }

}  // namespace refhist::malloc_layout
