// Rows that are appended one after the other. Unlike a vector's, a large table's memory is moved by the
// kernel when it grows, so that it is never there twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace refhist {

template <class Row>
class GrowingTable {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  /// By value: it may be a row of this table, which moves.
  void push_back(Row row) {
    grow(size_ + 1);
    rows_.get()[size_++] = row;
  }

  /// `more` lies elsewhere.
  void append(std::span<const Row> more) {
    grow(size_ + more.size());
    for (const Row& row : more) rows_.get()[size_++] = row;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Row& operator[](std::size_t at) { return rows_.get()[at]; }
  [[nodiscard]] const Row& operator[](std::size_t at) const { return rows_.get()[at]; }
  [[nodiscard]] Row* begin() { return rows_.get(); }
  [[nodiscard]] Row* end() { return rows_.get() + size_; }
  [[nodiscard]] std::span<const Row> rows() const { return {rows_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(rows()); }

 private:
  struct Free {
    void operator()(Row* rows) const { std::free(static_cast<void*>(rows)); }
  };

  void grow(std::size_t wanted) {
    if (wanted <= capacity_) return;
    const std::size_t more = std::max(wanted, capacity_ + capacity_ / 2 + 64);
    void* moved = std::realloc(static_cast<void*>(rows_.get()), more * sizeof(Row));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(rows_.release());
    rows_.reset(static_cast<Row*>(moved));
    capacity_ = more;
  }

  std::unique_ptr<Row, Free> rows_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace refhist
