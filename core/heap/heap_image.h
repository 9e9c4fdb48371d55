// The contents of the heap, read in windows. As much as fits stays in memory, so that following pointers
// costs no system call each; a larger heap is worked through window by window.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "heap/heap_map.h"
#include "heap/reachability_memory.h"

namespace refhist {

class HeapImage {
 public:
  using Word = ScanMemory::Word;
  static constexpr std::size_t kWindow = 4 << 20;

  /// At most `budget` bytes are kept (one window at least).
  HeapImage(ScanMemory& memory, HeapMap& heap, std::size_t budget);

  [[nodiscard]] std::size_t window_count() const { return windows_.size(); }
  [[nodiscard]] static std::size_t window_of(const HeapSpan& span, Address address) {
    return span.first_window + (address - span.begin) / kWindow;
  }
  [[nodiscard]] Address window_begin(std::size_t window) const { return windows_[window].range.begin; }
  /// True when words() needs no window for the range: it is read for itself, as large blocks are.
  [[nodiscard]] static bool alone(const HeapSpan& span, AddressRange range);
  [[nodiscard]] bool loaded(std::size_t window) const { return windows_[window].words != nullptr; }
  [[nodiscard]] bool has_room(std::size_t window) const;
  /// Reads the window; forgets the oldest ones where there is no room.
  void load(std::size_t window);

  /// Calls `use(Address, const Word*, count)` for the words of the range, in pieces: from its window when
  /// that is loaded, else read for this once.
  template <class Use>
  void words(const HeapSpan& span, AddressRange range, Use&& use);

 private:
  struct Window {
    AddressRange range;
    Backing backing = Backing::anonymous;
    std::unique_ptr<Word[]> words;
  };

  ScanMemory& memory_;
  std::size_t budget_;
  std::size_t held_ = 0;  // bytes
  std::vector<Window> windows_;
  std::deque<std::size_t> oldest_;
  std::vector<Word> piece_;
};

template <class Use>
void HeapImage::words(const HeapSpan& span, AddressRange range, Use&& use) {
  range = {(range.begin + 7) & ~Address{7}, range.end & ~Address{7}};
  if (range.begin >= range.end) return;
  const Window& window = windows_[window_of(span, range.begin)];
  if (window.words != nullptr && !alone(span, range)) {
    // Windows begin where their span does, which need not be aligned to words.
    use(range.begin, window.words.get() + (range.begin - (window.range.begin & ~Address{7})) / sizeof(Word),
        range.size() / sizeof(Word));
    return;
  }
  while (range.begin < range.end) {
    const AddressRange piece{range.begin, std::min<Address>(range.end, range.begin + kWindow)};
    memory_.fill(piece, window.backing, piece_.data());
    use(piece.begin, static_cast<const Word*>(piece_.data()), piece.size() / sizeof(Word));
    range.begin = piece.end;
  }
}

}  // namespace refhist
