#include "session/object_lists.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/text.h"

namespace refhist {

namespace {

using Lists = std::vector<std::pair<Address, Address>>;

class ListFinder {
 public:
  explicit ListFinder(SessionState& state) : state_(state) {
    for (const Site& site : state_.sites.all()) {
      const std::vector<std::string>& functions = state_.families[site.family.index()].family.listed_by;
      if (functions.empty() || !site.module.valid()) continue;
      modules_.insert(site.module);
      functions_.insert(functions.begin(), functions.end());
    }
  }

  [[nodiscard]] Lists find() {
    Lists lists;
    if (modules_.empty()) return lists;
    std::set<Address> slabs;
    state_.recorder.allocations().each_slab([&](Address begin, std::uint64_t) { slabs.insert(begin); });
    state_.recorder.allocations().each([&](const Block& block) {
      const bool cut_up = slabs.contains(block.begin) && !cuts(block.allocator);
      if (!cut_up && block.stack.valid() && lists_objects(block.stack))
        lists.emplace_back(block.begin, block.begin + block.size);
    });
    std::sort(lists.begin(), lists.end());
    return lists;
  }

 private:
  [[nodiscard]] bool cuts(FamilyId allocator) const {
    return allocator.valid() && state_.families[allocator.index()].family.cuts_blocks();
  }

  bool lists_objects(StackId stack) {
    const auto [entry, fresh] = by_stack_.try_emplace(stack, false);
    if (fresh) entry->second = is_listed_by(innermost(stack));
    return entry->second;
  }

  [[nodiscard]] bool is_listed_by(const std::string& function) const {
    return !function.empty() &&
           std::any_of(functions_.begin(), functions_.end(),
                       [&](const std::string& glob) { return glob_match(glob, function); });
  }

  /// The name of the first function of the family's library; empty when the stack has none.
  [[nodiscard]] std::string innermost(StackId stack) const {
    for (const StackFrame& frame : state_.history.stacks().frames(stack)) {
      if (!modules_.contains(frame.module)) continue;
      const auto function = state_.modules.get(frame.module)->module->function_at(frame.pc - 1);
      if (function) return std::string(clone_base(function->name));
    }
    return {};
  }

  SessionState& state_;
  std::set<ModuleId> modules_;
  std::set<std::string> functions_;
  std::map<StackId, bool> by_stack_;
};

}  // namespace

Lists find_object_lists(SessionState& state) { return ListFinder(state).find(); }

}  // namespace refhist
