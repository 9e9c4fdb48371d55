#include "reachability/lost_memory.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace refhist {

namespace {

// Ways are looked for from each member of a cycle until this many nodes have been looked at in all.
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 22U;

Address first_word(Address begin) { return begin & ~Address{sizeof(LostMemory::Word) - 1}; }

}  // namespace

LostMemory::LostMemory(const std::vector<TrackedBlock>& blocks, HeapMap& heap, TrackedCells& cells,
                       HeapImage& image, EndGivesBack end_gives_back)
    : blocks_(blocks),
      heap_(heap),
      cells_(cells),
      image_(image),
      end_gives_back_(std::move(end_gives_back)),
      cell_node_(cells.size(), kNone) {}

void LostMemory::run() {
  const auto lost = [](const TrackedCell& cell) { return cell.reach != Reach::reachable; };
  if (std::none_of(cells_.cells().begin(), cells_.cells().end(), lost)) return;
  add_nodes();
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].edges = static_cast<std::uint32_t>(edges_.size());
    sweep(node);
  }
  find_components();
  if (end_gives_back_ && weaken_back_pointers()) find_components();
  judge_components();
  release_alone();
}

void LostMemory::add_nodes() {
  for (HeapSpan& span : heap_.spans()) {
    if (span.blocks) add_blocks(span);
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const TrackedCell& cell = cells_.cell(i);
    if (cell.reach == Reach::reachable || cell_node_[i] != kNone) continue;
    cell_node_[i] = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({cell.range.begin, cell.range.end, static_cast<std::uint32_t>(i)});
  }
  wanted_ = {nodes_.front().begin, nodes_.front().end};
  for (const Node& node : nodes_)
    wanted_ = {std::min(wanted_.begin, node.begin), std::max(wanted_.end, node.end)};
}

// The marker has cleared what it reached: what is left is handed out and lost.
void LostMemory::add_blocks(HeapSpan& span) {
  for (auto it = std::find(span.live.begin(), span.live.end(), true); it != span.live.end();
       it = std::find(it + 1, span.live.end(), true)) {
    const auto granule = static_cast<std::size_t>(it - span.live.begin());
    Node node{span.address(granule), span.block_end(granule)};
    const std::size_t i = cells_.first_behind(node.begin);
    if (i < cells_.size() && cells_.cell(i).whole && cells_.cell(i).range.begin < node.end) {
      node.cell = static_cast<std::uint32_t>(i);
      cell_node_[i] = static_cast<std::uint32_t>(nodes_.size());
    }
    begins_.push_back(node.begin);
    begin_node_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back(node);
  }
}

void LostMemory::sweep(std::uint32_t number) {
  const Node& node = nodes_[number];
  HeapSpan& span = *heap_.span_at(node.begin);
  AddressRange range{node.begin, node.end};
  if (node.cell != kNone) return sweep(span, number, range);
  for (std::size_t i = cells_.first_behind(range.begin); i < cells_.size(); ++i) {
    const AddressRange& cell = cells_.cell(i).range;
    if (cell.begin >= range.end) break;
    sweep(span, number, {range.begin, cell.begin & ~Address{7}});
    range.begin = cell.end;
  }
  sweep(span, number, range);
}

void LostMemory::sweep(HeapSpan& span, std::uint32_t node, AddressRange range) {
  if (range.begin >= range.end) return;
  if (!image_.alone(span, range)) {
    const std::size_t window = image_.window_of(span, range.begin);
    if (!image_.loaded(window)) image_.load(window);
  }
  image_.words(span, range, [&](Address at, const Word* words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Address target = untagged(words[i]);
      const Address moved = above_tag(words[i]);
      if (wanted_.contains(target)) point(node, target, at + i * sizeof(Word));
      if (wanted_.contains(moved)) point(node, moved, at + i * sizeof(Word));
    }
  });
}

void LostMemory::point(std::uint32_t source, Address target, Address word) {
  const std::uint32_t node = node_at(target);
  if (node == kNone || node == source) return;
  if (nodes_[node].cell != kNone) {
    TrackedCell& cell = cells_.cells()[nodes_[node].cell];
    hold(cell, source, word);
    if (!refers(source, cell, target)) return;
  }
  const Address offset = (word - first_word(nodes_[source].begin)) / sizeof(Word);
  if (offset < kNone && edges_.size() < kNone) edges_.push_back({node, static_cast<std::uint32_t>(offset)});
}

void LostMemory::hold(TrackedCell& cell, std::uint32_t source, Address word) {
  const bool better = cell.holder == 0 || (nodes_[source].cell != kNone && cells_.at(cell.holder) == nullptr);
  cell.reach = Reach::from_leaked;
  if (better) cell.holder = word;
}

bool LostMemory::refers(std::uint32_t source, const TrackedCell& cell, Address target) const {
  const TrackedBlock* block = block_of(cell);
  if (block == nullptr || !block->control_block) return true;
  const bool own = block->managed >= nodes_[source].begin && block->managed < nodes_[source].end;
  return target == block->begin && !own;
}

const TrackedBlock* LostMemory::block_of(const TrackedCell& cell) const {
  const TrackedBlock* found = nullptr;
  for (std::uint32_t i = 0; i < cell.count; ++i) {
    const TrackedBlock& block = blocks_[cells_.members()[cell.first + i]];
    if (found != nullptr && block.begin != found->begin) return nullptr;
    if (found == nullptr || block.control_block) found = &block;
  }
  return cell.count == 1 || (found != nullptr && found->control_block) ? found : nullptr;
}

std::uint32_t LostMemory::node_at(Address target) {
  if (TrackedCell* cell = cells_.at(target)) {
    return cell_node_[static_cast<std::size_t>(cell - cells_.cells().data())];
  }
  HeapSpan* span = heap_.span_at(target);
  if (span == nullptr || !span->blocks) return kNone;
  const std::size_t granule = span->starts.floor(span->granule(target));
  if (!span->live[granule]) return kNone;
  const Address begin = span->address(granule);
  const auto found = std::lower_bound(begins_.begin(), begins_.end(), begin);
  if (found == begins_.end() || *found != begin) return kNone;
  return begin_node_[static_cast<std::size_t>(found - begins_.begin())];
}

std::uint32_t LostMemory::edges_end(std::uint32_t node) const {
  if (nodes_[node].weak) return nodes_[node].edges;
  return node + 1 < nodes_.size() ? nodes_[node + 1].edges : static_cast<std::uint32_t>(edges_.size());
}

// Tarjan's strongly connected components, without recursion.
void LostMemory::find_components() {
  struct Frame {
    std::uint32_t node = 0;
    std::uint32_t edge = 0;
  };
  std::vector<std::uint32_t> order(nodes_.size());  // 0: not seen yet
  std::vector<std::uint32_t> low(nodes_.size());
  std::vector<std::uint32_t> open;
  std::vector<Frame> way;
  std::uint32_t seen = 0;
  component_.assign(nodes_.size(), kNone);
  components_.clear();
  const auto enter = [&](std::uint32_t node) {
    order[node] = low[node] = ++seen;
    open.push_back(node);
    way.push_back({node, nodes_[node].edges});
  };
  const auto leave = [&](std::uint32_t node) {
    if (low[node] != order[node]) return;
    Component component;
    std::uint32_t member = kNone;
    do {
      member = open.back();
      open.pop_back();
      component_[member] = static_cast<std::uint32_t>(components_.size());
      ++component.nodes;
      if (nodes_[member].cell != kNone) ++component.cells;
    } while (member != node);
    components_.push_back(component);
  };
  for (std::uint32_t start = 0; start < nodes_.size(); ++start) {
    if (order[start] == 0) enter(start);
    while (!way.empty()) {
      const std::uint32_t node = way.back().node;
      if (way.back().edge == edges_end(node)) {
        way.pop_back();
        if (!way.empty()) low[way.back().node] = std::min(low[way.back().node], low[node]);
        leave(node);
        continue;
      }
      const std::uint32_t target = edges_[way.back().edge++].target;
      if (order[target] == 0) {
        enter(target);
      } else if (component_[target] == kNone) {
        low[node] = std::min(low[node], order[target]);
      }
    }
  }
}

const TrackedBlock* LostMemory::only_block(std::uint32_t node) const {
  if (nodes_[node].cell == kNone) return nullptr;
  return block_of(cells_.cell(nodes_[node].cell));
}

// Nodes whose references are all those that other members of their cycle give back at their own end, while
// they themselves give back none of those.
std::vector<std::uint32_t> LostMemory::held_by_members() const {
  std::unordered_map<std::uint32_t, std::int64_t> holders;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    const TrackedBlock* from = only_block(node);
    if (from == nullptr || components_[component_[node]].cells < 2) continue;
    std::unordered_set<std::uint32_t> held;
    for (std::uint32_t edge = nodes_[node].edges; edge < edges_end(node); ++edge) {
      const std::uint32_t target = edges_[edge].target;
      const TrackedBlock* to = component_[target] == component_[node] ? only_block(target) : nullptr;
      if (to == nullptr || !end_gives_back_(from->object, to->object)) continue;
      if (!end_gives_back_(to->object, from->object) && held.insert(target).second) ++holders[target];
    }
  }
  std::vector<std::uint32_t> nodes;
  for (const auto& [node, count] : holders) {
    const std::int64_t references = only_block(node)->references;
    if (references > 0 && references <= count) nodes.push_back(node);
  }
  return nodes;
}

// With it goes the memory of its own: what only it leads to without another object between.
void LostMemory::weaken(const std::vector<std::uint32_t>& nodes) {
  constexpr std::uint32_t kSeveral = kNone - 1;
  std::vector<std::uint32_t> owner(nodes_.size(), kNone);
  std::unordered_set<std::uint32_t> components;
  for (const std::uint32_t node : nodes) components.insert(component_[node]);
  for (std::uint32_t start = 0; start < nodes_.size(); ++start) {
    if (nodes_[start].cell == kNone || !components.contains(component_[start])) continue;
    std::vector<std::uint32_t> next{start};
    for (std::size_t i = 0; i < next.size(); ++i) {
      for (std::uint32_t edge = nodes_[next[i]].edges; edge < edges_end(next[i]); ++edge) {
        const std::uint32_t target = edges_[edge].target;
        if (nodes_[target].cell != kNone || owner[target] == start || owner[target] == kSeveral) continue;
        owner[target] = owner[target] == kNone ? start : kSeveral;
        next.push_back(target);
      }
    }
  }
  for (const std::uint32_t node : nodes) nodes_[node].weak = true;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (owner[node] < kSeveral && nodes_[owner[node]].weak) nodes_[node].weak = true;
  }
}

bool LostMemory::weaken_back_pointers() {
  const std::vector<std::uint32_t> nodes = held_by_members();
  if (nodes.empty()) return false;
  weaken(nodes);
  return true;
}

void LostMemory::judge_components() {
  std::vector<std::uint32_t> by_component(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) by_component[i] = i;
  std::stable_sort(by_component.begin(), by_component.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return component_[a] > component_[b]; });
  // Whoever points at a component comes before it.
  for (const std::uint32_t node : by_component) {
    const Component& from = components_[component_[node]];
    for (std::uint32_t edge = nodes_[node].edges; edge < edges_end(node); ++edge) {
      if (component_[edges_[edge].target] == component_[node]) continue;
      Component& to = components_[component_[edges_[edge].target]];
      to.entered = true;
      to.led = to.led || from.led || from.cells != 0;
    }
  }
  const auto control_block = [&](const Node& node) {
    const TrackedBlock* block = block_of(cells_.cell(node.cell));
    return block != nullptr && block->control_block;
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    Component& component = components_[component_[i]];
    if (nodes_[i].cell == kNone || component.nodes == 1) continue;
    component.cycle = component.cells > 1 || control_block(nodes_[i]);
  }
}

// Memory of its own that points back at an object, such as its private part, does not hold it; nor does what
// points into a control block or past it.
void LostMemory::release_alone() {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (cell_node_[i] == kNone) continue;
    const Component& component = components_[component_[cell_node_[i]]];
    if (component.cells != 1 || component.cycle || component.entered) continue;
    cells_.cells()[i].reach = Reach::unreachable;
    cells_.cells()[i].holder = 0;
  }
}

bool LostMemory::held_by_leak(std::size_t cell) const {
  return cell_node_[cell] != kNone && components_[component_[cell_node_[cell]]].led;
}

std::uint32_t LostMemory::cycle_number(std::size_t cell) const {
  if (cell_node_[cell] == kNone) return 0;
  const std::uint32_t component = component_[cell_node_[cell]];
  return components_[component].cycle ? component + 1 : 0;
}

std::vector<LostMemory::Step> LostMemory::cycle_of(std::size_t cell) {
  if (cycle_number(cell) == 0) return {};
  const std::uint32_t start = cell_node_[cell];
  Component& component = components_[component_[start]];
  if (component.work > kMostWork) return {};
  component.work += component.nodes;
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> came;  // from a node, by an edge
  std::vector<std::uint32_t> next{start};
  for (std::size_t i = 0; i < next.size() && !came.contains(start); ++i) {
    for (std::uint32_t edge = nodes_[next[i]].edges; edge < edges_end(next[i]); ++edge) {
      const std::uint32_t target = edges_[edge].target;
      if (component_[target] != component_[start]) continue;
      if (came.try_emplace(target, next[i], edge).second && target != start) next.push_back(target);
    }
  }
  std::vector<Step> steps;
  std::uint32_t node = start;
  do {
    const auto [from, edge] = came.at(node);
    const Address begin = nodes_[from].begin;
    steps.push_back({first_word(begin) + Address{edges_[edge].word} * sizeof(Word), begin});
    node = from;
  } while (node != start);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace refhist
