#include "agent_tables/stack_nodes.h"

#include <algorithm>
#include <optional>

namespace refhist {

namespace {
agent::StackNode copy_of(const agent::StackNode& node) {
  return {__atomic_load_n(&node.key, __ATOMIC_RELAXED), __atomic_load_n(&node.parent, __ATOMIC_RELAXED),
          __atomic_load_n(&node.depth, __ATOMIC_RELAXED)};
}
}  // namespace

StackNodes::StackNodes(const WalkerMemory& memory)
    : shared_(memory.shared()), nodes_(memory.nodes()), capacity_(memory.node_capacity()) {}

StackEnd StackNodes::stack(std::uint32_t number, std::size_t limit, std::vector<RawFrame>& out) const {
  std::optional<std::uint32_t> depth;  // that the next node must have
  for (std::size_t frames = 0; number >= agent::kRoots; ++frames) {
    if (number >= capacity_) return StackEnd::damaged;
    const agent::StackNode node = copy_of(nodes_[number]);
    // Callers are named before whom they call, and lie one less deep.
    const bool outermost = node.parent < agent::kRoots;
    if (node.parent >= number || (node.depth == 1) != outermost || node.depth != depth.value_or(node.depth))
      return StackEnd::damaged;
    if (frames == limit) return StackEnd::cut;
    out.push_back({.pc = node.key & ~agent::kExact, .exact = (node.key & agent::kExact) != 0});
    depth = node.depth - 1;
    number = node.parent;
  }
  return number == agent::kWholeRoot ? StackEnd::whole : StackEnd::cut;
}

std::uint32_t StackNodes::count() const {
  return std::min(__atomic_load_n(&shared_->node_count, __ATOMIC_ACQUIRE), capacity_);
}

std::uint64_t StackNodes::lost() const { return __atomic_load_n(&shared_->lost, __ATOMIC_RELAXED); }

}  // namespace refhist
