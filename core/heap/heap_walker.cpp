#include "heap/heap_walker.h"

#include <fmt/core.h>

#include <utility>

#include "heap/heap_arenas.h"
#include "heap/heap_chunks.h"
#include "heap/heap_free_lists.h"
#include "heap/heap_layout.h"
#include "heap/heap_mapped.h"

namespace refhist {

namespace {

class HeapWalker {
 public:
  HeapWalker(ScanMemory& memory, const std::vector<AddressRange>& data,
             const std::vector<AddressRange>& anonymous, bool withholds)
      : memory_(memory),
        anonymous_(anonymous),
        withholds_(withholds),
        arenas_(find_arenas(memory, data, anonymous)) {
    note(arenas_.why_not);
  }

  WalkedHeap walk() {
    for (const Arena& arena : arenas_.arenas) {
      for (const ArenaHeap& heap : arena.heaps) memory_.progress().expect(2 * heap.memory.size());
    }
    for (const Arena& arena : arenas_.arenas) {
      // Its bins point at the headers of free chunks, and a header's first word belongs to the block before.
      heap_.map.add_used({arena.state, arena.state + malloc_layout::kArenaSize});
      for (const ArenaHeap& heap : arena.heaps) walk_arena_heap(arena, heap);
    }
    // Else there is no glibc malloc that could have mapped chunks.
    if (arenas_.has_blocks()) add_mapped_chunks();
    heap_.map.sort();
    take_free_lists();
    return std::move(heap_);
  }

 private:
  void note(const std::string& why) {
    if (heap_.why_not.empty()) heap_.why_not = why;
  }

  void walk_arena_heap(const Arena& arena, const ArenaHeap& heap) {
    HeapChunks chunks(memory_, heap, arena.top, arena.main);
    if (!chunks.walk()) return note(chunks.why_not());
    for (const Address block : chunks.tcache_sized()) tcache_sized_.push_back(block);
    if (chunks.span().begin < chunks.span().end) {
      heap_.map.add(std::move(chunks.span()), heap.memory);
    } else {
      heap_.map.add_used(heap.memory);
    }
  }

  void add_mapped_chunks() {
    const std::vector<MappedChunk> found =
        find_mapped_chunks(memory_, subtract(anonymous_, heap_.map.used()));
    std::uint64_t bytes = 0;
    for (const MappedChunk& chunk : found) bytes += chunk.memory.size();
    const std::uint64_t counted = arenas_.mapped_bytes.value_or(bytes);
    if (bytes > counted || (bytes < counted && !withholds_)) {
      note(fmt::format("malloc counts {} bytes in mapped chunks, {} were found", counted, bytes));
      // More than there are: something else looks like a chunk, and nobody can tell which one.
      if (bytes > counted) return;
    }
    for (const MappedChunk& chunk : found) add_mapped_chunk(chunk);
  }

  void add_mapped_chunk(const MappedChunk& chunk) {
    HeapSpan span;
    span.begin = chunk.block;
    span.end = chunk.memory.end;
    span.shift = HeapSpan::kSingleShift;
    span.starts = HeapBitmap(1);
    span.starts.set(0);
    span.live.assign(1, true);
    heap_.map.add(std::move(span), chunk.memory);
  }

  void take_free_lists() {
    HeapFreeLists lists(memory_, heap_.map);
    for (const Arena& arena : arenas_.arenas) lists.take_fastbins(arena);
    for (const Address block : tcache_sized_) {
      if (heap_.map.block_from(block)->live()) lists.take_tcache(block);
    }
    note(lists.why_not());
  }

  ScanMemory& memory_;
  const std::vector<AddressRange>& anonymous_;
  bool withholds_;
  ArenaList arenas_;
  WalkedHeap heap_;
  std::vector<Address> tcache_sized_;
};

}  // namespace

WalkedHeap walk_heap(ScanMemory& memory, const std::vector<AddressRange>& module_data,
                     const std::vector<AddressRange>& anonymous, bool withholds) {
  return HeapWalker(memory, module_data, anonymous, withholds).walk();
}

}  // namespace refhist
