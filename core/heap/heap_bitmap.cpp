#include "heap/heap_bitmap.h"

#include <bit>

namespace refhist {

namespace {
constexpr std::size_t kBits = 64;
std::size_t high_bit(std::uint64_t word) { return kBits - 1 - std::countl_zero(word); }
std::size_t low_bit(std::uint64_t word) { return std::countr_zero(word); }
}  // namespace

HeapBitmap::HeapBitmap(std::size_t size) : size_(size) {
  std::size_t words = size;
  do {
    words = (words + kBits - 1) / kBits;
    levels_.emplace_back(words);
  } while (words > 1);
}

void HeapBitmap::set(std::size_t i) {
  for (std::vector<Word>& level : levels_) {
    Word& word = level[i / kBits];
    const bool known_above = word != 0;
    word |= Word{1} << (i % kBits);
    if (known_above) return;
    i /= kBits;
  }
}

bool HeapBitmap::test(std::size_t i) const {
  return i < size_ && (levels_[0][i / kBits] >> (i % kBits) & 1) != 0;
}

std::size_t HeapBitmap::descend_high(std::size_t level, std::size_t word) const {
  for (;;) {
    const std::size_t i = word * kBits + high_bit(levels_[level][word]);
    if (level == 0) return i;
    word = i;
    --level;
  }
}

std::size_t HeapBitmap::descend_low(std::size_t level, std::size_t word) const {
  for (;;) {
    const std::size_t i = word * kBits + low_bit(levels_[level][word]);
    if (level == 0) return i;
    word = i;
    --level;
  }
}

std::size_t HeapBitmap::floor(std::size_t i) const {
  if (size_ == 0) return kNone;
  if (i >= size_) i = size_ - 1;
  const Word here = levels_[0][i / kBits] & (~Word{0} >> (kBits - 1 - i % kBits));
  if (here != 0) return i / kBits * kBits + high_bit(here);
  i /= kBits;
  for (std::size_t level = 1; level < levels_.size(); ++level, i /= kBits) {
    const Word below = levels_[level][i / kBits] & ((Word{1} << (i % kBits)) - 1);
    if (below != 0) return descend_high(level - 1, i / kBits * kBits + high_bit(below));
  }
  return kNone;
}

std::size_t HeapBitmap::above(std::size_t i) const {
  if (i + 1 >= size_) return kNone;
  for (std::size_t level = 0; level < levels_.size(); ++level, i /= kBits) {
    const std::size_t bit = i % kBits;
    const Word mask = bit == kBits - 1 ? 0 : ~Word{0} << (bit + 1);
    const Word word = levels_[level][i / kBits] & mask;
    if (word == 0) continue;
    const std::size_t next = i / kBits * kBits + low_bit(word);
    return level == 0 ? next : descend_low(level - 1, next);
  }
  return kNone;
}

}  // namespace refhist
