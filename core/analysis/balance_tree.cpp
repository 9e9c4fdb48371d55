#include "analysis/balance_tree.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace refhist {

void BalanceTree::add(ObjectId id) {
  for (const auto& [number, event] : history_.life_of(id)) add(event, 1);
  for (const auto& [event, times] : history_.folded_life_of(id)) add(event, times);
}

void BalanceTree::add(const Event& event, std::int64_t times) {
  if (event.failed || event.role == Role::alloc || event.role == Role::free) return;
  Change& change = changes_[event.stack];
  const std::int64_t amount = event.before && event.after ? *event.after - *event.before
                              : event.role == Role::put   ? -1
                              : event.role == Role::init  ? event.after.value_or(1)
                                                          : 1;
  (amount < 0 ? change.given : change.taken) += times * (amount < 0 ? -amount : amount);
}

BalanceTree::Node& BalanceTree::Node::call(const NamedFrame& frame) {
  const std::string name = frame.function.empty() ? FrameNamer::text(frame) : frame.function;
  std::unique_ptr<Node>& node = calls[name];
  if (node == nullptr) {
    node = std::make_unique<Node>();
    node->function = name;
    node->file = frame.file;
  }
  if (frame.line != 0) node->lines.insert(frame.line);
  return *node;
}

std::string BalanceTree::Node::text() const {
  constexpr std::size_t kListed = 4;
  if (lines.empty()) return function;
  std::vector<std::string> words;
  for (const unsigned line : lines) words.push_back(std::to_string(line));
  if (words.size() > kListed) {
    words.resize(kListed);
    words.emplace_back("...");
  }
  return fmt::format("{} ({}:{})", function, file_name(file), join(words, ","));
}

void BalanceTree::build() {
  for (const auto& [stack, change] : changes_) {
    const std::vector<NamedFrame> frames = namer_.stack(stack);
    Node* node = &root_;
    node->taken += change.taken;
    node->given += change.given;
    const std::size_t innermost = frames.size() - std::min(frames.size(), kDeepest);
    for (std::size_t i = frames.size(); i-- > innermost;) {
      node = &node->call(frames[i]);
      node->taken += change.taken;
      node->given += change.given;
    }
  }
  changes_.clear();
}

void BalanceTree::prune(Node& node) {
  std::erase_if(node.calls, [](const auto& call) { return call.second->sum() == 0; });
  for (auto& [text, call] : node.calls) prune(*call);
}

const BalanceTree::Node& BalanceTree::pruned() {
  build();
  prune(root_);
  return root_;
}

}  // namespace refhist
