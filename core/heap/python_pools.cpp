#include "heap/python_pools.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace refhist {

namespace {

constexpr Address kPool = 16 << 10;
constexpr std::uint32_t kClasses = 32;
constexpr std::uint32_t kStep = 16;  // bytes from one class to the next

struct PoolHeader {
  std::uint32_t count = 0;  // blocks in use
  std::uint32_t padding = 0;
  Address free = 0;
  Address next = 0;
  Address previous = 0;
  std::uint32_t arena = 0;
  std::uint32_t size_class = 0;
  std::uint32_t next_offset = 0;  // from here on no block was cut yet
  std::uint32_t last_offset = 0;  // of the last block that fits
};
static_assert(sizeof(PoolHeader) == 48);

class Pool {
 public:
  Pool(Address begin, const std::byte* bytes) : begin_(begin), bytes_(bytes) {
    std::memcpy(&header_, bytes, sizeof header_);
  }

  /// Nothing where the header and the free blocks do not agree.
  std::optional<HeapSpan> span() {
    if (header_.size_class >= kClasses || header_.last_offset != kPool - size()) return std::nullopt;
    const bool cut_whole = header_.next_offset >= sizeof header_ && header_.next_offset <= kPool &&
                           (header_.next_offset - sizeof header_) % size() == 0;
    if (!cut_whole || header_.count > blocks()) return std::nullopt;
    HeapSpan span = all_in_use();
    return take_free(span) ? std::optional(std::move(span)) : std::nullopt;
  }

 private:
  [[nodiscard]] std::uint32_t size() const { return (header_.size_class + 1) * kStep; }
  [[nodiscard]] std::uint32_t blocks() const {
    return (header_.next_offset - static_cast<std::uint32_t>(sizeof header_)) / size();
  }

  [[nodiscard]] HeapSpan all_in_use() const {
    HeapSpan span;
    span.begin = begin_ + sizeof header_;
    span.end = begin_ + header_.next_offset;
    const std::size_t granules = (span.end - span.begin) >> HeapSpan::kChunkShift;
    span.starts = HeapBitmap(granules);
    span.live.resize(granules);
    span.cut.resize(granules);
    for (std::size_t i = 0; i < blocks(); ++i) {
      const std::size_t granule = i * size() / kStep;
      span.starts.set(granule);
      span.live[granule] = true;
      span.cut[granule] = true;
    }
    return span;
  }

  /// False where the list is not one of blocks of this pool, or has another length than the count says.
  bool take_free(HeapSpan& span) const {
    std::uint32_t left = blocks() - header_.count;
    for (Address at = header_.free; at != 0; --left) {
      const bool block = left != 0 && at >= span.begin && at < span.end && (at - span.begin) % size() == 0;
      if (!block || !span.live[span.granule(at)]) return false;
      span.live[span.granule(at)] = false;
      std::memcpy(&at, bytes_ + (at - begin_), sizeof at);
    }
    return left == 0;
  }

  Address begin_;
  const std::byte* bytes_;
  PoolHeader header_;
};

class PoolSearch {
 public:
  PoolSearch(ScanMemory& memory, HeapMap& heap) : memory_(memory), heap_(heap) {}

  [[nodiscard]] bool is_pool(Address begin) { return span_at(begin).has_value(); }

  void add_all(const AddressRange& range) {
    for (const AddressRange& part : memory_.populated(range)) {
      const Address first = (part.begin + kPool - 1) & ~(kPool - 1);
      for (Address pool = first; pool + kPool <= range.end && pool < part.end; pool += kPool) {
        std::optional<HeapSpan> span = span_at(pool);
        if (!span) continue;
        if (span->begin < span->end) {
          heap_.add(std::move(*span), {pool, pool + kPool});
        } else {
          heap_.add_used({pool, pool + kPool});
        }
      }
    }
  }

 private:
  std::optional<HeapSpan> span_at(Address pool) {
    if (!memory_.read(pool, bytes_.data(), bytes_.size())) return std::nullopt;
    return Pool(pool, bytes_.data()).span();
  }

  ScanMemory& memory_;
  HeapMap& heap_;
  std::array<std::byte, kPool> bytes_{};
};

}  // namespace

void add_python_pools(ScanMemory& memory, HeapMap& heap, const std::vector<Address>& objects,
                      const std::vector<AddressRange>& anonymous) {
  PoolSearch search(memory, heap);
  for (const AddressRange& range : anonymous) {
    auto object = std::lower_bound(objects.begin(), objects.end(), range.begin);
    // Of a mapping without pools, few objects need to be asked.
    constexpr int kAsked = 64;
    for (int asked = 0; asked < kAsked && object != objects.end() && *object < range.end; ++asked) {
      const Address pool = *object & ~(kPool - 1);
      if (pool >= range.begin && search.is_pool(pool)) {
        search.add_all(range);
        break;
      }
      object = std::lower_bound(object, objects.end(), pool + kPool);
    }
  }
  heap.sort();
}

}  // namespace refhist
