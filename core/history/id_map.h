// A value for each of many ids that lie in stretches; where there is none, next to no memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/types.h"

namespace refhist {

template <class Key, class Value>
class IdMap {
 public:
  /// Made from nothing (0) where it is not there.
  Value& operator[](Key id) {
    const std::size_t number = id.index() / kChunk;
    if (number >= chunks_.size()) chunks_.resize(number + 1);
    if (chunks_[number] == nullptr) chunks_[number] = std::make_unique<Chunk>();
    return (*chunks_[number])[id.index() % kChunk];
  }

 private:
  static constexpr std::size_t kChunk = 256;
  using Chunk = std::array<Value, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace refhist
