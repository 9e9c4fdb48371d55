// Reads the program's memory for a scan: in large pieces, without touching pages that were never used
// (a thread's stack of 8 MiB has a few, a reserved terabyte has none), and counting what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heap/reachability_progress.h"
#include "heap/reachability_ranges.h"
#include "port/process_memory.h"

namespace refhist {

/// What stands behind a page that the program never touched.
enum class Backing {
  anonymous,  ///< zeros
  module,     ///< what the module's file holds there
  file,       ///< another file, which is not dragged into memory for the scan; may end before the mapping
};

/// Programs keep tags and counters in the 16 bits that an address of x86-64 leaves free at the upper end.
constexpr std::uint64_t untagged(std::uint64_t word) { return word & 0x0000'ffff'ffff'ffff; }

/// Others move the address up and have the 16 bits below it.
constexpr std::uint64_t above_tag(std::uint64_t word) { return word >> 16U; }

class ScanMemory {
 public:
  using Word = std::uint64_t;

  ScanMemory(DebuggerPort& port, const ProcessInfo& process, ScanProgress& progress);
  ~ScanMemory();
  ScanMemory(const ScanMemory&) = delete;
  ScanMemory& operator=(const ScanMemory&) = delete;

  [[nodiscard]] const ProcessMemory& process() const { return memory_; }
  [[nodiscard]] bool read(Address address, void* out, std::size_t size) const {
    return memory_.read(address, out, size) == size;
  }
  template <class T>
  [[nodiscard]] bool read_value(Address address, T& out) const {
    return memory_.read_value(address, out);
  }

  /// The parts that the program has touched, by whole pages; everything where that cannot be known.
  std::vector<AddressRange> populated(AddressRange range);

  /// Reads the range; what was never touched (of anonymous memory) or cannot be read is zero in `out`.
  void fill(AddressRange range, Backing backing, Word* out);

  /// Calls `use(Address, const Word*, count)` for all words of the range that could be read and can matter,
  /// in order.
  template <class Use>
  void each_piece(AddressRange range, Backing backing, Use&& use);

  /// The first address that should have been readable and was not; 0 when there was none.
  [[nodiscard]] Address unreadable() const { return unreadable_; }
  [[nodiscard]] ScanProgress& progress() { return progress_; }

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  bool page_flags(Address page, std::size_t count);
  /// The readable beginning of the range, in bytes; `range` moves behind it or behind the unreadable page.
  std::size_t next_piece(AddressRange& range, Backing backing);

  ProcessMemory memory_;
  ScanProgress& progress_;
  int pagemap_ = -1;
  Address unreadable_ = 0;
  std::vector<Word> buffer_;
  std::vector<std::uint64_t> flags_;
};

template <class Use>
void ScanMemory::each_piece(AddressRange range, Backing backing, Use&& use) {
  range = {(range.begin + 7) & ~Address{7}, range.end & ~Address{7}};
  if (range.begin >= range.end) return;
  std::vector<AddressRange> parts{range};
  if (backing != Backing::module) parts = populated(range);
  for (AddressRange part : parts) {
    while (part.begin < part.end) {
      const Address at = part.begin;
      const std::size_t size = next_piece(part, backing);
      if (size != 0) use(at, static_cast<const Word*>(buffer_.data()), size / sizeof(Word));
    }
  }
}

}  // namespace refhist
