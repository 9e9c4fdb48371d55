#include "heap/heap_image.h"

namespace refhist {

HeapImage::HeapImage(ScanMemory& memory, HeapMap& heap, std::size_t budget)
    : memory_(memory), budget_(budget), piece_(kWindow / sizeof(Word)) {
  for (HeapSpan& span : heap.spans()) {
    span.first_window = windows_.size();
    for (Address at = span.begin; at < span.end; at += kWindow) {
      Window window;
      window.range = {at, std::min<Address>(at + kWindow, span.end)};
      window.backing = span.blocks ? Backing::anonymous : Backing::module;
      windows_.push_back(std::move(window));
    }
  }
}

bool HeapImage::alone(const HeapSpan& span, AddressRange range) {
  return span.shift == HeapSpan::kSingleShift ||
         window_of(span, range.begin) != window_of(span, range.end - 1);
}

bool HeapImage::has_room(std::size_t window) const {
  return held_ + windows_[window].range.size() <= budget_;
}

void HeapImage::load(std::size_t number) {
  while (!has_room(number) && !oldest_.empty()) {
    Window& old = windows_[oldest_.front()];
    oldest_.pop_front();
    old.words.reset();
    held_ -= old.range.size();
  }
  Window& window = windows_[number];
  const AddressRange whole_words{window.range.begin & ~Address{7}, (window.range.end + 7) & ~Address{7}};
  window.words = std::make_unique_for_overwrite<Word[]>(whole_words.size() / sizeof(Word));
  memory_.fill(whole_words, window.backing, window.words.get());
  held_ += window.range.size();
  oldest_.push_back(number);
}

}  // namespace refhist
