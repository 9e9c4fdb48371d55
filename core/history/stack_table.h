// Call stacks, each stored once: a trie of (parent, frame), so that shared outer frames are shared.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/types.h"

namespace refhist {

/// A frame as recorded: enough to name it after its module is gone.
struct StackFrame {
  ModuleId module;     ///< invalid when the pc lay in no module
  Address pc = 0;      ///< file address when `module` is valid, else the address in memory
  bool exact = false;  ///< pc is the next instruction; else a return address
  bool operator==(const StackFrame&) const = default;
};

class StackTable {
 public:
  struct Node {
    StackId parent;  ///< the frames that called; invalid for the outermost
    FrameId frame;
    bool truncated = false;  ///< only of an outermost one
  };
  /// `frames` innermost first. `truncated`: the walk did not reach the outermost frame.
  StackId intern(std::span<const StackFrame> frames, bool truncated);
  /// Innermost first.
  [[nodiscard]] std::vector<StackFrame> frames(StackId stack) const;
  [[nodiscard]] bool truncated(StackId stack) const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::size_t bytes() const;
  void clear();

  /// All of it, by FrameId and by StackId; a parent comes before those that it called.
  [[nodiscard]] const std::vector<StackFrame>& all_frames() const { return frames_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// A table with these: the same ids mean the same stacks. Throws Error when they do not fit together.
  static StackTable of(std::vector<StackFrame> frames, std::vector<Node> nodes);

 private:
  struct NodeKey {
    std::uint64_t parent_and_frame;
    bool truncated;
    bool operator==(const NodeKey&) const = default;
  };
  struct NodeHash {
    std::size_t operator()(const NodeKey& key) const noexcept;
  };
  struct FrameHash {
    std::size_t operator()(const StackFrame& frame) const noexcept;
  };
  FrameId intern_frame(const StackFrame& frame);

  std::vector<StackFrame> frames_;
  std::vector<Node> nodes_;
  std::unordered_map<StackFrame, FrameId, FrameHash> frame_ids_;
  std::unordered_map<NodeKey, StackId, NodeHash> node_ids_;
};

}  // namespace refhist
