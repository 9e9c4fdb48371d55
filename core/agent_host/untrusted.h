// A place in memory that the program can write at any time, by mistake or not. What stands there is to be had
// as a copy only, which is checked before it is used: the place itself may be something else by then.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace refhist {

template <class T>
class Untrusted {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Untrusted(T& place) : place_(&place) {}

  /// The copy, where `fits` says that it can be one.
  template <class Fits>
  [[nodiscard]] std::optional<T> get_if(Fits&& fits) const {
    const T value = claimed();
    return fits(value) ? std::optional<T>(value) : std::nullopt;
  }
  /// The same for what is large: false where it cannot be one.
  template <class Fits>
  [[nodiscard]] bool copy_if(T& value, Fits&& fits) const {
    copy(value);
    return fits(value);
  }
  [[nodiscard]] bool is(T value) const { return claimed() == value; }
  /// Unchecked, for what is compared or shown: nothing may be looked up, counted or allocated by it.
  [[nodiscard]] T claimed() const {
    T value;
    if constexpr (sizeof(T) <= sizeof(std::uint64_t)) {
      __atomic_load(place_, &value, __ATOMIC_ACQUIRE);
    } else {
      copy(value);
    }
    return value;
  }
  void store(T value) const { __atomic_store(place_, &value, __ATOMIC_RELEASE); }
  /// Before anything that comes behind it is looked at.
  void exchange(T value) const { __atomic_store(place_, &value, __ATOMIC_SEQ_CST); }
  /// True when it was `expected`, and is `value` now.
  bool replace(T expected, T value) const {
    return __atomic_compare_exchange(place_, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  void expect() const { __builtin_prefetch(place_); }

 private:
  using Word [[gnu::may_alias]] = std::uint64_t;

  // By words, none of which the compiler may read a second time.
  void copy(T& value) const {
    static_assert(sizeof(T) % sizeof(Word) == 0 && alignof(T) >= alignof(Word));
    const auto* from = reinterpret_cast<const Word*>(place_);
    auto* to = reinterpret_cast<Word*>(&value);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < sizeof(T) / sizeof(Word); ++i)
      to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
  }

  T* place_;
};

}  // namespace refhist
