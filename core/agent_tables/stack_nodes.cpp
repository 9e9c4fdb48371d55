#include "agent_tables/stack_nodes.h"

#include <algorithm>

namespace refhist {

StackNodes::StackNodes(const agent::WalkerShared* shared)
    : shared_(shared),
      nodes_(agent::at_offset<agent::StackNode>(shared, shared->nodes_at)),
      capacity_(shared->node_capacity) {}

bool StackNodes::stack(std::uint32_t node, std::size_t limit, std::vector<RawFrame>& out) const {
  const std::uint32_t end = count();
  for (std::size_t frames = 0; node >= agent::kRoots; ++frames) {
    if (frames == limit || node >= end) return false;
    const std::uint64_t key = nodes_[node].key;
    const std::uint32_t parent = nodes_[node].parent;
    out.push_back({.pc = key & ~agent::kExact, .exact = (key & agent::kExact) != 0});
    if (parent >= node) return false;  // callers are named before whom they call
    node = parent;
  }
  return node == agent::kWholeRoot;
}

std::uint32_t StackNodes::count() const {
  return std::min(__atomic_load_n(&shared_->node_count, __ATOMIC_ACQUIRE), capacity_);
}

std::uint64_t StackNodes::lost() const { return __atomic_load_n(&shared_->lost, __ATOMIC_RELAXED); }

}  // namespace refhist
