#include "heap/heap_free_lists.h"

#include <fmt/core.h>

#include <array>

#include "heap/heap_layout.h"

namespace refhist {

using namespace malloc_layout;

namespace {
constexpr std::size_t kMostFastbinBlocks = 1 << 28;

/// struct tcache_perthread_struct.
struct Tcache {
  std::array<std::uint16_t, kTcacheBins> counts;
  std::array<Address, kTcacheBins> entries;
};
static_assert(sizeof(Tcache) + kHeader == kTcacheChunk);

}  // namespace

bool HeapFreeLists::is_block(Address address, std::uint64_t chunk_size) {
  const std::optional<HeapBlock> block = map_.block_from(address);
  return block && block->span->shift == HeapSpan::kChunkShift &&
         block->end() - block->begin() + kSizeField == chunk_size;
}

// A block that was freed twice makes a ring: its second turn ends the list.
void HeapFreeLists::take_list(Address link, Address to_block, std::uint64_t chunk_size, std::size_t limit) {
  for (std::size_t n = 0; link != 0 && n < limit; ++n) {
    const Address block = link + to_block;
    std::uint64_t stored = 0;
    if (!is_block(block, chunk_size) || !memory_.read_value(block, stored)) {
      if (why_not_.empty()) why_not_ = fmt::format("malloc's list of free blocks is broken at 0x{:x}", block);
      return;
    }
    if (!map_.block_from(block)->live()) return;
    map_.block_from(block)->set_live(false);
    link = reveal(block, stored);
  }
}

void HeapFreeLists::take_fastbins(const Arena& arena) {
  for (std::size_t bin = 0; bin < arena.fastbins.size(); ++bin) {
    take_list(arena.fastbins[bin], kHeader, kSmallest + bin * kTcacheStep, kMostFastbinBlocks);
  }
}

void HeapFreeLists::take_tcache(Address block) {
  Tcache tcache;
  if (!memory_.read_value(block, tcache)) return;
  unsigned odd = 0;  // a thread that was stopped between the two steps of putting or getting a block
  for (std::size_t bin = 0; bin < kTcacheBins; ++bin) {
    if ((tcache.counts[bin] == 0) != (tcache.entries[bin] == 0)) ++odd;
    if (tcache.entries[bin] != 0 && !is_block(tcache.entries[bin], kSmallest + bin * kTcacheStep)) return;
  }
  if (odd > 1) return;
  for (std::size_t bin = 0; bin < kTcacheBins; ++bin) {
    take_list(tcache.entries[bin], 0, kSmallest + bin * kTcacheStep, tcache.counts[bin]);
  }
}

}  // namespace refhist
