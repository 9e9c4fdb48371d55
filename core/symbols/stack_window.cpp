#include "symbols/stack_window.h"

namespace refhist {

namespace {

constexpr std::size_t kFirst = 8192;
constexpr std::size_t kNext = 16384;

}  // namespace

void StackWindow::reset() {
  begin_ = 0;
  size_ = 0;
  wanted_ = 0;
}

bool StackWindow::move(Address address) {
  if (wanted_ != 0 && address < begin_) return false;
  const std::size_t piece = wanted_ == 0 ? kFirst : kNext;
  begin_ = address;
  wanted_ = piece + kPage - address % kPage;  // up to the end of a page
  if (buffer_.size() < wanted_) buffer_.resize(kNext + kPage);
  return true;
}

}  // namespace refhist
