// What the walker in the program and the core in the debugger share. It is mapped at different addresses in
// the two, so it holds offsets, no pointers. Freestanding. The core formats it (agent_tables/walker_memory)
// before the first capture; memory of a new memfd costs nothing until it is touched.
//
//   WalkerShared | two module lists | rows, block starts | nodes | index
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/frame_rule.h"

namespace refhist::agent {

/// A node of the trie of stacks is one frame; its parent is the caller.
struct StackNode {
  uint64_t key = 0;  ///< the address, and kExact
  uint32_t parent = 0;
  uint32_t depth = 0;  ///< frames from here to the root
};

/// In a key: the address is where a signal interrupted the frame, no return address.
constexpr uint64_t kExact = uint64_t{1} << 62;

/// The two roots. Frames of a node that leads to kCutRoot are the innermost part of a deeper stack.
constexpr uint32_t kWholeRoot = 0;
constexpr uint32_t kCutRoot = 1;
constexpr uint32_t kRoots = 2;

struct SharedModule {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t rows = 0;  ///< offset of the rows in the row area, in bytes / 8
  uint32_t row_count = 0;
  /// Offset of the block starts in the row area, in bytes / 8. For each kBlock bytes of code the last row
  /// that begins at or before the first of them, so that a look-up is a step or two from there.
  uint32_t blocks = 0;
  uint32_t block_count = 0;
};

constexpr uint32_t kBlockShift = 8;

/// `version` counts the publications; list `version & 1` is the one in force. A list is written again while a
/// thread may still look at it, two publications later: the thread sees that the version has moved and looks
/// again.
struct WalkerShared {
  static constexpr uint64_t kMagic = 0x316b6c61776872;
  uint64_t magic = 0;
  uint64_t size = 0;
  uint64_t version = 0;
  uint64_t lists_at = 0;
  uint64_t rows_at = 0;
  uint64_t nodes_at = 0;
  uint64_t index_at = 0;
  uint64_t row_words = 0;        ///< size of the row area, in bytes / 8
  uint32_t list_capacity = 0;    ///< modules
  uint32_t list_counts[2] = {};  ///< modules in the two lists, in order of address
  uint32_t node_capacity = 0;
  uint32_t first_level = 0;  ///< of the index: level n has 2^n places and begins at place 2^n
  uint32_t last_level = 0;
  uint32_t no_system_calls = 0;  ///< for a program under seccomp: unknown memory is then unreadable
  uint32_t reserved = 0;

  // Written by the program, on lines of their own.
  alignas(64) uint32_t level = 0;
  alignas(64) uint32_t node_count = 0;
  alignas(64) uint64_t lost = 0;  ///< stacks without a name because the trie is full
};

template <class T>
T* at_offset(WalkerShared* shared, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + offset);
}

template <class T>
const T* at_offset(const WalkerShared* shared, uint64_t offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(shared) + offset);
}

}  // namespace refhist::agent
