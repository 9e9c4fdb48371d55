// Names stacks: inserts frames into the trie in shared memory, from many threads at once and without a lock.
// Freestanding.
//
// Nodes lie densely in the order of their creation. The index finds them by a hash of the whole stack up to
// the node, not of the parent's number: so all places of a stack are known at once, and the processor looks
// them up in parallel. A node is complete before its number appears in the index. Two threads (or a thread
// and its own signal handler) may make the same node twice: both lead to the same frames.
#pragma once

#include "agent/walker_shared.h"

namespace refhist::agent {

class StackTrie {
 public:
  static constexpr uint32_t kFull = 0xffffffff;

  explicit StackTrie(WalkerShared* shared)
      : shared_(shared),
        nodes_(at_offset<StackNode>(shared, shared->nodes_at)),
        index_(at_offset<uint32_t>(shared, shared->index_at)),
        level_(__atomic_load_n(&shared->level, __ATOMIC_ACQUIRE)),
        mask_((uint64_t{1} << level_) - 1) {}

  static uint64_t root_hash(uint32_t root) { return (root + 1) * 0xc2b2ae3d27d4eb4fULL; }
  static uint64_t child_hash(uint64_t parent, uint64_t key) {
    return (parent << 5 | parent >> 59) + key * 0x9e3779b97f4a7c15ULL;
  }

  /// The node with this key below the parent; kFull when there is no room for it.
  uint32_t node(uint32_t parent, uint64_t key, uint64_t hash) {
    const uint32_t* level = index_ + mask_ + 1;
    const uint32_t found = __atomic_load_n(&level[mixed(hash) & mask_], __ATOMIC_ACQUIRE);
    if (found != 0 && is(found, parent, key)) return found;
    const uint32_t node = StackTrie(shared_).search(parent, key, hash);
    *this = StackTrie(shared_);  // the level may have changed
    return node;
  }

 private:
  static constexpr unsigned kProbes = 32;
  static uint64_t mixed(uint64_t hash) { return hash >> 35 ^ hash; }
  static uint64_t place(uint32_t level, uint64_t hash, unsigned probe) {
    const uint64_t size = uint64_t{1} << level;
    return size + ((mixed(hash) + probe) & (size - 1));
  }
  bool is(uint32_t node, uint32_t parent, uint64_t key) const {
    return nodes_[node].key == key && nodes_[node].parent == parent;
  }
  uint32_t search(uint32_t parent, uint64_t key, uint64_t hash);
  uint32_t find(uint32_t level, uint32_t parent, uint64_t key, uint64_t hash) const;
  uint32_t make(uint32_t parent, uint64_t key);
  uint32_t publish(uint32_t node, uint32_t parent, uint64_t key, uint64_t hash);
  void grow();

  WalkerShared* shared_;
  StackNode* nodes_;
  uint32_t* index_;
  uint32_t level_;
  uint64_t mask_;
};

}  // namespace refhist::agent
