#include "heap/heap_arenas.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "heap/heap_layout.h"

namespace refhist {

using namespace malloc_layout;

namespace {

constexpr std::size_t kMostArenas = 16384;
constexpr std::size_t kMostHeaps = 65536;  // of one arena: 4 TiB

/// A struct malloc_state, copied out of the program.
class ArenaState {
 public:
  ArenaState(Address address, const void* bytes) : address_(address) {
    std::memcpy(words_.data(), bytes, kArenaSize);
  }
  [[nodiscard]] Address word(std::size_t offset) const { return words_[offset / sizeof(Address)]; }
  [[nodiscard]] bool plausible() const {
    return word(kTop) != 0 && word(kTop) % kAlignment == 0 && word(kNextArena) != 0 &&
           word(kSystemMemory) <= word(kMaxSystemMemory) && plausible_bins();
  }
  /// Nothing was ever allocated from it: the top is then a bin.
  [[nodiscard]] bool unused() const { return word(kTop) == address_ + kTop; }

 private:
  [[nodiscard]] bool plausible_bins() const {
    std::size_t empty = 0;
    for (std::size_t bin = 0; bin < kBinCount; ++bin) {
      const Address first = word(kBins + bin * 16);
      const Address last = word(kBins + bin * 16 + 8);
      const Address self = address_ + kTop + bin * 16;  // as if it were a chunk: two words before its links
      if ((first == self) != (last == self)) return false;
      if (first == self) ++empty;
      if (first == 0 || first % kAlignment != 0 || last == 0 || last % kAlignment != 0) return false;
    }
    return empty != 0;
  }

  Address address_;
  std::array<Address, kArenaSize / sizeof(Address)> words_;
};

class ArenaFinder {
 public:
  ArenaFinder(ScanMemory& memory, const std::vector<AddressRange>& data,
              const std::vector<AddressRange>& writable)
      : memory_(memory), data_(data), writable_(writable) {}

  ArenaList find() {
    const std::optional<ArenaState> main = find_main();
    if (!main) {
      list_.why_not = "no heap of glibc's malloc was found";
      return std::move(list_);
    }
    find_parameters(main->unused() ? 0 : main->word(kTop));
    add_main(*main);
    add_others(main->word(kNextArena));
    // Then another allocator does the work, or none.
    if (!list_.has_blocks()) note("the program does not use glibc's malloc");
    return std::move(list_);
  }

 private:
  void note(std::string text) {
    if (list_.why_not.empty()) list_.why_not = std::move(text);
  }

  /// Tries every place in the data; `test(place, bytes, size)` says whether it is the one. Data is read in
  /// pieces: a program may have gigabytes of it. `size` reaches into the next piece as far as anything that
  /// is looked for.
  template <class Test>
  void each_place(const std::vector<AddressRange>& data, Test&& test) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    constexpr std::size_t kOverlap = 8192;
    static_assert(kOverlap >= kArenaSize && kOverlap >= sizeof(Parameters));
    std::vector<std::byte> bytes(kPiece + kOverlap);
    for (const AddressRange& range : data) {
      for (Address begin = range.begin; begin < range.end; begin += kPiece) {
        const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), range.end - begin);
        const std::size_t got = memory_.process().read(begin, bytes.data(), wanted);
        for (std::size_t at = 0; at < kPiece && at + sizeof(Address) <= got; at += sizeof(Address)) {
          if (test(begin + at, bytes.data() + at, got - at)) return;
        }
        memory_.progress().ask();
        if (got < wanted) break;  // as before an unreadable page, nothing behind it is looked at
      }
    }
  }

  std::optional<ArenaState> find_main() {
    std::optional<ArenaState> found;
    each_place(data_, [&](Address place, const std::byte* bytes, std::size_t size) {
      if (size < kArenaSize || place % kAlignment != 0) return false;
      Address last_bin = 0;  // nearly always empty: a quick test before the thorough one
      std::memcpy(&last_bin, bytes + kNextArena - 32, sizeof last_bin);
      if (last_bin == 0) return false;
      const ArenaState state(place, bytes);
      if (!state.plausible()) return false;
      if (!state.unused() && range_at(writable_, state.word(kTop)) == nullptr) return false;
      main_ = place;
      found = state;
      return !state.unused();  // a second libc (dlmopen) may have one that is in use
    });
    return found;
  }

  /// struct malloc_par tells where the main heap begins and how much is mapped in chunks of their own. It
  /// lies in the same data as the main arena.
  void find_parameters(Address top) {
    const AddressRange* heap = range_at(writable_, top);
    const AddressRange* data = range_at(data_, main_);
    if ((heap == nullptr && top != 0) || data == nullptr) return;
    each_place({*data}, [&](Address, const std::byte* bytes, std::size_t size) {
      Parameters parameters;
      if (size < sizeof parameters) return false;
      std::memcpy(&parameters, bytes, sizeof parameters);
      if (!plausible(parameters) ||
          !(top == 0 ? is_only_mapped(parameters) : is_of_heap(parameters, *heap, top)))
        return false;
      sbrk_base_ = parameters.sbrk_base;
      list_.mapped_bytes = parameters.mapped_bytes;
      return true;
    });
  }

  bool is_of_heap(const Parameters& p, const AddressRange& heap, Address top) {
    return heap.contains(p.sbrk_base) && p.sbrk_base <= top && is_first_chunk(first_chunk(p.sbrk_base), top);
  }

  /// As the threshold says that somebody has set.
  static bool is_only_mapped(const Parameters& p) {
    return p.sbrk_base == 0 && p.fixed_threshold == 1 && p.mapped_chunks > 0 &&
           p.mapped_bytes >= static_cast<std::uint64_t>(p.mapped_chunks) * kPage;
  }

  static bool plausible(const Parameters& p) {
    return p.mapped_chunks >= 0 && p.mapped_chunks <= p.most_mapped_chunks &&
           (p.fixed_threshold == 0 || p.fixed_threshold == 1) && p.mapped_bytes <= p.most_mapped_bytes &&
           p.mapped_bytes % kPage == 0 && p.most_mapped_bytes % kPage == 0 &&
           plausible_tcache(p.tcache_bins, p.tcache_largest);
  }

  // Where sbrk began, or the next place that is aligned.
  static Address first_chunk(Address base) { return (base + kAlignment - 1) & ~(kAlignment - 1); }

  bool is_first_chunk(Address chunk, Address top) {
    std::uint64_t size = 0;
    if (!memory_.read_value(chunk + kSizeField, size)) return false;
    return (size & kFlags) == kPreviousInUse && size >= kSmallest && (size & ~kFlags) <= top - chunk;
  }

  /// The number of bins follows from the largest size that they take.
  static bool plausible_tcache(std::uint64_t bins, std::uint64_t largest) {
    if (bins == 0 || bins > kTcacheBins || largest > kTcacheBins * kTcacheStep + kSmallest) return false;
    const std::uint64_t chunk =
        std::max((largest + kSizeField + kAlignment - 1) & ~(kAlignment - 1), kSmallest);
    return bins == (chunk - kSmallest) / kTcacheStep + 1;
  }

  static Arena arena_of(Address address, const ArenaState& state) {
    Arena arena;
    arena.state = address;
    arena.top = state.word(kTop);
    for (std::size_t i = 0; i < kFastbinCount; ++i) arena.fastbins[i] = state.word(kFastbins + i * 8);
    return arena;
  }

  void add_main(const ArenaState& state) {
    if (state.unused()) return;
    Arena arena = arena_of(main_, state);
    arena.main = true;
    if (sbrk_base_ == 0) {
      note("the start of malloc's main heap was not found");
    } else {
      const Address first = first_chunk(sbrk_base_);
      std::uint64_t size = 0;
      if (!memory_.read_value(arena.top + kSizeField, size)) size = 0;
      arena.heaps.push_back({{first, arena.top + (size & ~kFlags)}, first, true});
    }
    list_.arenas.push_back(std::move(arena));
  }

  void add_others(Address next) {
    for (std::size_t n = 0; next != main_; ++n) {
      std::array<std::byte, kArenaSize> bytes;
      const Address info = next & ~(kHeapAlignment - 1);
      if (n >= kMostArenas || next - info > kMaxHeapInfo || !memory_.read(next, bytes.data(), kArenaSize)) {
        return note(fmt::format("malloc's list of arenas is broken at 0x{:x}", next));
      }
      const ArenaState state(next, bytes.data());
      if (!state.plausible()) return note(fmt::format("the malloc arena at 0x{:x} is not understood", next));
      add_other(next, state);
      next = state.word(kNextArena);
    }
  }

  void add_other(Address address, const ArenaState& state) {
    Arena arena = arena_of(address, state);
    const Address info_size = address & (kHeapAlignment - 1);
    Address heap = arena.top & ~(kHeapAlignment - 1);
    for (std::size_t n = 0; heap != 0; ++n) {
      Address info[3] = {};
      if (n >= kMostHeaps || !memory_.read(heap, info, sizeof info) || info[kHeapArena / 8] != address ||
          info[kHeapSize / 8] > kHeapAlignment) {
        return note(fmt::format("the malloc heap at 0x{:x} is not understood", heap));
      }
      const bool oldest = info[kHeapPrevious / 8] == 0;
      const Address behind_state = (address + kArenaSize + kAlignment - 1) & ~(kAlignment - 1);
      arena.heaps.push_back(
          {{heap, heap + info[kHeapSize / 8]}, oldest ? behind_state : heap + info_size, n == 0});
      heap = info[kHeapPrevious / 8];
    }
    list_.arenas.push_back(std::move(arena));
  }

  ScanMemory& memory_;
  const std::vector<AddressRange>& data_;
  const std::vector<AddressRange>& writable_;
  ArenaList list_;
  Address main_ = 0;
  Address sbrk_base_ = 0;
};

}  // namespace

ArenaList find_arenas(ScanMemory& memory, const std::vector<AddressRange>& module_data,
                      const std::vector<AddressRange>& writable) {
  return ArenaFinder(memory, module_data, writable).find();
}

}  // namespace refhist
