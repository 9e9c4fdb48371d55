#include "heap/heap_mapped.h"

#include <algorithm>
#include <array>
#include <optional>

#include "heap/heap_layout.h"

namespace refhist {

using namespace malloc_layout;

namespace {

constexpr std::size_t kPageWords = kPage / sizeof(std::uint64_t);

/// Where a header can stand in a page: at its start, or right before a block with a larger alignment.
constexpr std::array<Address, 9> kOffsets = {0,        32 - 16,   64 - 16,   128 - 16, 256 - 16,
                                             512 - 16, 1024 - 16, 2048 - 16, 4096 - 16};

std::optional<MappedChunk> chunk_in_page(Address page, const std::uint64_t* words, AddressRange free) {
  for (const Address offset : kOffsets) {
    // What an alignment left unused before the chunk stands where the size of the previous chunk would.
    const std::uint64_t before = words[offset / 8];
    const std::uint64_t size = words[offset / 8 + 1];
    if ((size & kFlags) != kMapped || before % kPage != offset) continue;
    if (offset == 0 && before != 0) continue;
    const std::uint64_t rest = size & ~kFlags;
    const Address chunk = page + offset;
    if (before > chunk - free.begin || rest > free.end - chunk || rest < kSmallest) continue;
    const MappedChunk found{{chunk - before, chunk + rest}, chunk + kHeader};
    if (found.memory.end % kPage == 0) return found;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MappedChunk> find_mapped_chunks(ScanMemory& memory, const std::vector<AddressRange>& anonymous) {
  std::vector<MappedChunk> found;
  std::array<std::uint64_t, kPageWords> words;
  for (const AddressRange& range : anonymous) {
    Address free = range.begin;  // behind the last chunk found
    for (const AddressRange& part : memory.populated(range)) {
      for (Address page = std::max(part.begin, free); page < part.end; page = std::max(page + kPage, free)) {
        if (!memory.read_value(page, words)) continue;
        const std::optional<MappedChunk> chunk = chunk_in_page(page, words.data(), {free, range.end});
        if (!chunk) continue;
        free = chunk->memory.end;
        found.push_back(*chunk);
      }
    }
  }
  return found;
}

}  // namespace refhist
