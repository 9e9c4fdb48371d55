#include "history/stack_table.h"

#include "base/error.h"

namespace refhist {

namespace {
std::size_t mix(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(x ^ (x >> 29));
}
}  // namespace

std::size_t StackTable::NodeHash::operator()(const NodeKey& key) const noexcept {
  return mix(key.parent_and_frame * 2 + (key.truncated ? 1 : 0));
}

std::size_t StackTable::FrameHash::operator()(const StackFrame& frame) const noexcept {
  return mix(frame.pc ^ (std::uint64_t{frame.module.value} << 40) ^ (frame.exact ? 1ULL << 63 : 0));
}

FrameId StackTable::intern_frame(const StackFrame& frame) {
  const auto [entry, added] = frame_ids_.try_emplace(frame, FrameId(frames_.size()));
  if (added) frames_.push_back(frame);
  return entry->second;
}

StackId StackTable::intern(std::span<const StackFrame> frames, bool truncated) {
  StackId parent;
  bool mark = truncated;  // kept on the outermost node, so that a whole and a cut stack never share it
  for (std::size_t i = frames.size(); i-- > 0;) {
    const FrameId frame = intern_frame(frames[i]);
    const NodeKey key{(std::uint64_t{parent.value} << 32) | frame.value, mark};
    const auto [entry, added] = node_ids_.try_emplace(key, StackId(nodes_.size()));
    if (added) nodes_.push_back(Node{parent, frame, mark});
    parent = entry->second;
    mark = false;
  }
  return parent;
}

std::vector<StackFrame> StackTable::frames(StackId stack) const {
  std::vector<StackFrame> result;
  for (; stack.valid(); stack = nodes_[stack.index()].parent) {
    result.push_back(frames_[nodes_[stack.index()].frame.index()]);
  }
  return result;
}

bool StackTable::truncated(StackId stack) const {
  bool mark = false;
  for (; stack.valid(); stack = nodes_[stack.index()].parent) mark = nodes_[stack.index()].truncated;
  return mark;
}

StackTable StackTable::of(std::vector<StackFrame> frames, std::vector<Node> nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool rooted = !nodes[i].parent.valid() || nodes[i].parent.index() < i;
    if (!rooted || nodes[i].frame.index() >= frames.size()) fail("its stacks are damaged");
  }
  StackTable table;
  table.frames_ = std::move(frames);
  table.nodes_ = std::move(nodes);
  return table;
}

std::size_t StackTable::bytes() const {
  // A hash table entry costs its value, a next pointer and, on average, one bucket pointer.
  return frames_.capacity() * sizeof(StackFrame) + nodes_.capacity() * sizeof(Node) +
         frame_ids_.size() * (sizeof(StackFrame) + sizeof(FrameId) + 2 * sizeof(void*)) +
         node_ids_.size() * (sizeof(NodeKey) + sizeof(StackId) + 2 * sizeof(void*));
}

void StackTable::clear() { *this = StackTable(); }

}  // namespace refhist
