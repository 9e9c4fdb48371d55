// The index grows by going over to a level of twice the size; what the older levels hold is found there once
// more and entered into the new one when it is next needed.
#include "agent/stack_trie.h"

namespace refhist::agent {

uint32_t StackTrie::find(uint32_t level, uint32_t parent, uint64_t key, uint64_t hash) const {
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    const uint32_t node = __atomic_load_n(&index_[place(level, hash, probe)], __ATOMIC_ACQUIRE);
    if (node == 0) return 0;
    if (is(node, parent, key)) return node;
  }
  return 0;
}

uint32_t StackTrie::search(uint32_t parent, uint64_t key, uint64_t hash) {
  if (const uint32_t node = find(level_, parent, key, hash)) return node;
  uint32_t node = 0;
  for (uint32_t level = level_; node == 0 && level > shared_->first_level; --level) {
    node = find(level - 1, parent, key, hash);
  }
  if (node == 0) node = make(parent, key);
  return node == 0 ? kFull : publish(node, parent, key, hash);
}

uint32_t StackTrie::make(uint32_t parent, uint64_t key) {
  // Looked at first: when the trie is full, the count must not run on and wrap.
  if (__atomic_load_n(&shared_->node_count, __ATOMIC_RELAXED) >= shared_->node_capacity) return 0;
  const uint32_t node = __atomic_fetch_add(&shared_->node_count, 1, __ATOMIC_RELAXED);
  if (node >= shared_->node_capacity) return 0;
  const uint32_t depth = parent < kRoots ? 1 : nodes_[parent].depth + 1;
  nodes_[node] = {key, parent, depth};
  if (node >= (uint32_t{1} << level_) / 4) grow();
  return node;
}

void StackTrie::grow() {
  if (level_ >= shared_->last_level) return;
  uint32_t expected = level_;
  __atomic_compare_exchange_n(&shared_->level, &expected, level_ + 1, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_RELAXED);
  level_ = __atomic_load_n(&shared_->level, __ATOMIC_ACQUIRE);
}

/// The node of this key that is in the index afterwards: this one, or one that another thread has made
/// meanwhile.
uint32_t StackTrie::publish(uint32_t node, uint32_t parent, uint64_t key, uint64_t hash) {
  for (;;) {
    for (unsigned probe = 0; probe < kProbes; ++probe) {
      uint32_t there = 0;
      if (__atomic_compare_exchange_n(&index_[place(level_, hash, probe)], &there, node, false,
                                      __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        return node;
      }
      if (is(there, parent, key)) return there;
    }
    const uint32_t before = level_;
    grow();  // no place near by: an unlucky hash
    if (level_ == before) return kFull;
  }
}

}  // namespace refhist::agent
