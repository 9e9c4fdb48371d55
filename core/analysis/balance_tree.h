// References taken and given back along the call tree: what a function takes and gives back itself is
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/frame_namer.h"
#include "history/history.h"

namespace refhist {

class BalanceTree {
 public:
  struct Node {
    std::string function;      ///< or what is known of it; the root has none
    std::string file;          ///< full path; empty when unknown
    std::set<unsigned> lines;  ///< from which it called
    std::int64_t taken = 0;    ///< in it and below
    std::int64_t given = 0;
    std::map<std::string, std::unique_ptr<Node>> calls;
    [[nodiscard]] std::int64_t sum() const { return taken - given; }
    Node& call(const NamedFrame& frame);
    /// "open_conn (a.c:3,5)"
    [[nodiscard]] std::string text() const;
  };

  BalanceTree(const History& history, FrameNamer& namer) : history_(history), namer_(namer) {}
  /// All references of the object.
  void add(ObjectId id);
  /// Whoever writes the tree may go through it by recursion: calls further in than this are told as one with
  /// the call at that depth.
  static constexpr std::size_t kDeepest = 400;
  /// Without the subtrees whose sum is zero.
  const Node& pruned();

 private:
  struct Change {
    std::int64_t taken = 0;
    std::int64_t given = 0;
  };
  void add(const Event& event, std::int64_t times);
  void build();
  static void prune(Node& node);

  const History& history_;
  FrameNamer& namer_;
  std::map<StackId, Change> changes_;
  Node root_;
};

}  // namespace refhist
