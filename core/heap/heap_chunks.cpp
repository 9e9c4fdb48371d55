#include "heap/heap_chunks.h"

#include <fmt/core.h>

#include <algorithm>

#include "heap/heap_layout.h"

namespace refhist {

using namespace malloc_layout;

namespace {
constexpr std::size_t kPiece = 1 << 20;
}

HeapChunks::HeapChunks(ScanMemory& memory, const ArenaHeap& heap, Address top, bool main_arena)
    : memory_(memory),
      heap_(heap),
      stop_(heap.has_top ? top : heap.memory.end),
      main_arena_(main_arena),
      buffer_(kPiece / sizeof(std::uint64_t)) {
  span_.begin = span_.end = heap.first_chunk + kHeader;
}

bool HeapChunks::fail(Address chunk, const char* what) {
  why_not_ = fmt::format("malloc's chunk header at 0x{:x} is not plausible ({})", chunk, what);
  return false;
}

bool HeapChunks::header(Address chunk, Header& out) {
  if (chunk - buffer_begin_ + kHeader > buffer_size_) {
    const std::size_t want = std::min<std::uint64_t>(kPiece, heap_.memory.end - chunk);
    if (want < kHeader) return fail(chunk, "past the heap's end");
    buffer_begin_ = chunk;
    buffer_size_ = memory_.process().read(chunk, buffer_.data(), want);
    memory_.progress().add(buffer_size_);
    if (buffer_size_ < kHeader) return fail(chunk, "unreadable");
  }
  const std::uint64_t* words = buffer_.data() + (chunk - buffer_begin_) / sizeof(std::uint64_t);
  out = {words[0], words[1]};
  return true;
}

bool HeapChunks::walk() {
  const Address first = heap_.first_chunk;
  if (first > stop_ || stop_ > heap_.memory.end || (stop_ - first) % kAlignment != 0) {
    return fail(first, "the heap ends before it");
  }
  const std::size_t granules = (stop_ - first) / kAlignment + 1;
  span_.starts = HeapBitmap(granules);
  span_.live.resize(granules);
  Address chunk = first;
  Header header;
  for (;;) {
    if (!this->header(chunk, header) || !close_previous(chunk, header)) return false;
    const std::uint64_t size = header.size & ~kFlags;
    const bool fencepost = !heap_.has_top && size == kFencepost;
    if (chunk == stop_ || fencepost) {
      span_.end = chunk + kSizeField;
      // Two fenceposts at most stand between the last chunk and the end.
      if (fencepost && stop_ - chunk > 2 * kSmallest) return fail(chunk, "the end of a heap inside it");
      return true;
    }
    if (!step(chunk, header)) return false;
    chunk += size;
  }
}

bool HeapChunks::plausible(Address chunk, const Header& header, std::uint64_t size) {
  if (size < kSmallest || size % kAlignment != 0) return fail(chunk, "size");
  if (size > stop_ - chunk) return fail(chunk, "larger than the heap");
  if ((header.size & kMapped) != 0) return fail(chunk, "mapped");
  if (main_arena_ && (header.size & kOtherArena) != 0) return fail(chunk, "arena");
  return true;
}

bool HeapChunks::step(Address chunk, const Header& header) {
  const std::uint64_t size = header.size & ~kFlags;
  if (!plausible(chunk, header, size)) return false;
  const std::size_t granule = (chunk - heap_.first_chunk) / kAlignment;
  span_.starts.set(granule);
  span_.live[granule] = true;
  if (size == kTcacheChunk) tcache_sized_.push_back(chunk + kHeader);
  previous_ = chunk;
  return true;
}

// A header tells whether the chunk before it is free, and then how large that chunk is.
bool HeapChunks::close_previous(Address chunk, const Header& header) {
  if ((header.size & kPreviousInUse) != 0) return true;
  if (previous_ == 0) return fail(chunk, "a free chunk before the first");
  if (header.previous_size != chunk - previous_) return fail(chunk, "size of the free chunk before it");
  span_.live[(previous_ - heap_.first_chunk) / kAlignment] = false;
  return true;
}

}  // namespace refhist
