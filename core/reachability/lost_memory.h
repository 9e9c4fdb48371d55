// Among what the roots do not reach: who points at whom, what is lost by itself, what only because something
// else is, and which objects hold each other in a cycle, through other blocks too.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "heap/heap_image.h"
#include "heap/heap_map.h"
#include "reachability/reachability_objects.h"

namespace refhist {

/// To be run after the marker: its nodes are the cells and the blocks that are handed out and not reached.
class LostMemory {
 public:
  using Word = ScanMemory::Word;
  /// A word of a cycle, in memory that begins at `begin`: it points at where the next one lies.
  struct Step {
    Address word = 0;
    Address begin = 0;
  };

  /// `end_gives_back`: as ReachOptions has it; may be empty.
  using EndGivesBack = std::function<bool(ObjectId ending, ObjectId given)>;
  LostMemory(const std::vector<TrackedBlock>& blocks, HeapMap& heap, TrackedCells& cells, HeapImage& image,
             EndGivesBack end_gives_back);

  /// Cells that something else lost points at become from_leaked, with a holder in another cell where there
  /// is one. What points at a cell only from memory that nobody but the cell leads to does not hold it.
  void run();

  /// Another lost cell leads to it, and it is in no cycle with that one.
  [[nodiscard]] bool held_by_leak(std::size_t cell) const;
  /// The same number for all that hold each other; 0: not in a cycle.
  [[nodiscard]] std::uint32_t cycle_number(std::size_t cell) const;
  /// A shortest way from the cell to itself; empty when it is in no cycle, or when it has too many members
  /// for a way for each.
  std::vector<Step> cycle_of(std::size_t cell);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Node {
    Address begin = 0;
    Address end = 0;
    std::uint32_t cell = kNone;
    std::uint32_t edges = 0;  ///< first of edges_; those of the next node begin behind the last
    bool weak = false;        ///< what it points at it does not hold
  };
  struct Edge {
    std::uint32_t target = 0;
    std::uint32_t word = 0;  ///< behind Node::begin, in words
  };
  struct Component {
    std::uint32_t cells = 0;
    std::uint32_t nodes = 0;
    bool entered = false;  ///< another one points at it
    bool led = false;      ///< another one with a cell leads to it
    bool cycle = false;
    std::uint64_t work = 0;  ///< nodes that ways through it have been looked for in
  };

  void add_nodes();
  void add_blocks(HeapSpan& span);
  void sweep(std::uint32_t node);
  void sweep(HeapSpan& span, std::uint32_t node, AddressRange range);
  void point(std::uint32_t source, Address target, Address word);
  void hold(TrackedCell& cell, std::uint32_t source, Address word);
  /// The word points at the cell as a reference does: at the beginning of what only references point at.
  [[nodiscard]] bool refers(std::uint32_t source, const TrackedCell& cell, Address target) const;
  /// The one block in the cell. A control block whose strong and weak references are two objects is one.
  [[nodiscard]] const TrackedBlock* block_of(const TrackedCell& cell) const;
  [[nodiscard]] std::uint32_t node_at(Address target);
  [[nodiscard]] std::uint32_t edges_end(std::uint32_t node) const;
  void find_components();
  /// In a cycle where the code says whose references are whose: what only points back holds nothing. True
  /// when there was such a thing.
  bool weaken_back_pointers();
  [[nodiscard]] std::vector<std::uint32_t> held_by_members() const;
  void weaken(const std::vector<std::uint32_t>& nodes);
  [[nodiscard]] const TrackedBlock* only_block(std::uint32_t node) const;
  void judge_components();
  void release_alone();

  const std::vector<TrackedBlock>& blocks_;
  HeapMap& heap_;
  TrackedCells& cells_;
  HeapImage& image_;
  const EndGivesBack end_gives_back_;
  std::vector<Node> nodes_;
  std::vector<Address> begins_;            // of the nodes that are blocks, by address
  std::vector<std::uint32_t> begin_node_;  // in step
  std::vector<std::uint32_t> cell_node_;   // by cell; kNone: reached
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> component_;  // by node
  std::vector<Component> components_;     // a component comes before those that point at it
  AddressRange wanted_;
};

}  // namespace refhist
