// The objects by their ids, which are never used again: what is removed leaves next to nothing behind.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "history/object.h"

namespace refhist {

/// What is to be left out of an object, next time.
enum class Fold : std::uint8_t { nothing, early, gone };

class ObjectTable {
  // A stretch of ids and those of its objects that are left, in their order.
  static constexpr std::size_t kChunk = 256;
  static constexpr std::size_t kWord = 64;
  using Bits = std::array<std::uint64_t, kChunk / kWord>;
  struct Chunk {
    Bits present{};
    Bits early{};  // what is to be left out: here, so that a look at it touches no object
    Bits gone{};
    std::unique_ptr<Object[]> objects;
    std::size_t room = 0;  // of `objects`
    [[nodiscard]] bool has(std::size_t place) const { return is_set(present, place); }
    /// Of the object: how many are left in front of it.
    [[nodiscard]] std::size_t rank(std::size_t place) const {
      std::size_t count = 0;
      for (std::size_t word = 0; word < place / kWord; ++word) count += std::popcount(present[word]);
      return count + std::popcount(present[place / kWord] & ((std::uint64_t{1} << place % kWord) - 1));
    }
    [[nodiscard]] std::size_t count() const { return rank(kChunk - 1) + (has(kChunk - 1) ? 1 : 0); }
  };

 public:
  ObjectId add(const Object& object);
  /// From now on the next object that is added has this id, which is not smaller than any that was given. No
  /// object is added before it any more.
  void skip_to(ObjectId id);
  [[nodiscard]] bool contains(ObjectId id) const {
    if (id.index() >= size_) return false;
    const Chunk* chunk = chunks_[id.index() / kChunk].get();
    return chunk != nullptr && chunk->has(id.index() % kChunk);
  }
  /// Throws Error when it was removed.
  const Object& operator[](ObjectId id) const {
    const Chunk& chunk = existing(id);
    const std::size_t place = id.index() % kChunk;
    return chunk.objects[chunk.room == kChunk && chunk.has(place) ? place : found(chunk, place)];
  }
  Object& operator[](ObjectId id) { return const_cast<Object&>(std::as_const(*this)[id]); }

  /// How many ids were given.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// How many objects are left.
  [[nodiscard]] std::size_t kept() const { return kept_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t bytes() const;
  /// Gives back memory that was taken for objects to come.
  void trim();

  void set_fold(ObjectId id, Fold how);
  [[nodiscard]] Fold fold(ObjectId id) const {
    const Chunk* chunk = chunks_[id.index() / kChunk].get();
    if (chunk == nullptr) return Fold::nothing;
    const std::size_t place = id.index() % kChunk;
    return is_set(chunk->gone, place)    ? Fold::gone
           : is_set(chunk->early, place) ? Fold::early
                                         : Fold::nothing;
  }
  /// Removes the objects with Fold::gone, and forgets what was set for the others. References to objects are
  /// not valid any more.
  void remove_gone();

  /// Those that are left, in the order of their ids: pairs of id and object.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::pair<ObjectId, const Object&>;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = value_type;
    Iterator(const ObjectTable& table, std::size_t at) : table_(&table), at_(at) { settle(); }
    value_type operator*() const { return {ObjectId(at_), (*table_)[ObjectId(at_)]}; }
    Iterator& operator++() {
      ++at_;
      settle();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void settle();
    const ObjectTable* table_;
    std::size_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  /// The stretch that the id lies in. Throws Error when nothing is left of it.
  [[nodiscard]] const Chunk& existing(ObjectId id) const {
    const Chunk* chunk = chunks_[id.index() / kChunk].get();
    if (chunk == nullptr) refuse_folded();
    return *chunk;
  }
  [[noreturn]] static void refuse_folded();
  /// Where the object is in its chunk.
  static std::size_t found(const Chunk& chunk, std::size_t place);
  static bool is_set(const Bits& bits, std::size_t place) {
    return (bits[place / kWord] >> place % kWord & 1U) != 0;
  }
  static void set(Bits& bits, std::size_t place, bool value) {
    const std::uint64_t bit = std::uint64_t{1} << place % kWord;
    bits[place / kWord] = value ? bits[place / kWord] | bit : bits[place / kWord] & ~bit;
  }
  static bool is_tight(const Chunk& chunk) { return chunk.room == chunk.count(); }
  void shrink(Chunk& chunk, const Bits& left);
  Chunk& chunk_of(std::size_t id);

  std::vector<std::unique_ptr<Chunk>> chunks_;  // null: nothing was there, or nothing is left
  std::size_t size_ = 0;
  std::size_t kept_ = 0;
};

}  // namespace refhist
