#include "analysis/borrowing.h"

#include <algorithm>

#include "analysis/keep_walk.h"
#include "base/system_path.h"
#include "x86/code_jumps.h"
#include "x86/known_functions.h"
#include "x86/taken_arguments.h"

namespace refhist {

namespace {

constexpr std::size_t kMostWalked = 200'000;  // instructions, in all
constexpr int kMostDepth = 6;

}  // namespace

bool Borrowing::leaves(const Module& module, Address target, unsigned argument) {
  const Asked asked{&module, target, argument};
  if (const auto known = called_.find(asked); known != called_.end()) return known->second;
  if (depth_ == 0) limited_ = false;
  const auto entered = graph_.entered_at(module, target);
  const bool all = !entered.empty() && std::all_of(entered.begin(), entered.end(), [&](const auto& function) {
    return leaves(function, argument);
  });
  if (!limited_) called_[asked] = all;
  return all;
}

bool Borrowing::leaves(const CodeGraph::Function& function, unsigned argument) {
  const Asked asked{function.module, function.symbol.address, argument};
  const auto [entry, added] = known_.try_emplace(asked, false);
  if (!added) return entry->second;  // one that calls itself may keep it
  const std::string_view name = function.symbol.name;
  const bool library = is_system_path(function.module->path());
  const bool leaves =
      only_looks(name) || ends_the_path(name) || (library ? borrows(name) : read(function, argument));
  if (limited_) {
    known_.erase(entry);
    return leaves;
  }
  return entry->second = leaves;
}

bool Borrowing::read(const CodeGraph::Function& function, unsigned argument) {
  if (steps_ > kMostWalked || depth_ == kMostDepth) {
    limited_ = true;
    return false;
  }
  ++depth_;
  const Module& module = *function.module;
  KeepWalk::Called called;
  called.ends = [&](Address target) { return graph_.ends_path(module, target); };
  called.leaves = [&](Address target, unsigned number) { return leaves(module, target, number); };
  KeepWalk walk(
      module, ranges_of(module, function.symbol), [](Address, std::optional<Address>) { return 0; }, called);
  const bool leaves = walk.only_looks_at(argument);
  steps_ += walk.steps();
  --depth_;
  return leaves;
}

}  // namespace refhist
