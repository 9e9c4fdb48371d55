#include "analysis/end_calls.h"

namespace refhist {

namespace {

// What is called further away than this is seldom a part of the object's end.
constexpr int kMostCalls = 4;

std::optional<FunctionSymbol> function_of(const LoadedModule* module, const Site& site) {
  return module == nullptr ? std::nullopt : module->module->code().function_at(site.file_address);
}

}  // namespace

bool EndCalls::give_back(FamilyId ending, FamilyId given) {
  if (sites_.all().size() != sites_seen_) find_puts();
  const auto [entry, added] = reached_.try_emplace(ending);
  if (added) entry->second = reached_from(ending);
  return entry->second.contains(given);
}

void EndCalls::find_puts() {
  sites_seen_ = sites_.all().size();
  puts_.clear();
  reached_.clear();
  for (const Site& site : sites_.all()) {
    if (site.role != Role::put) continue;
    const LoadedModule* module = modules_.get(site.module);
    if (const auto function = function_of(module, site))
      puts_[{&module->module->code(), function->address}].insert(site.family);
  }
}

void EndCalls::add_called(const CodeGraph::Function& function, FileRange range,
                          std::vector<CodeGraph::Function>& called) {
  for (const Address target : calls_out_of(*function.module, function.symbol, range)) {
    for (CodeGraph::Function& next : graph_.entered_at(*function.module, target))
      called.push_back(std::move(next));
  }
}

std::set<FamilyId> EndCalls::reached_from(FamilyId ending) {
  std::vector<CodeGraph::Function> level;
  std::set<const Module*> own;
  for (const Site& site : sites_.all()) {
    const LoadedModule* module = modules_.get(site.module);
    const auto function = function_of(module, site);
    if (site.family != ending || site.role != Role::put || !function) continue;
    own.insert(&module->module->code());
    // Around an inlined copy other things are done.
    add_called({&module->module->code(), *function}, site.inlined ? site.copy : function->range(), level);
  }
  std::set<FamilyId> families;
  std::set<Place> seen;
  for (int calls = 1; calls <= kMostCalls && !level.empty(); ++calls) {
    std::vector<CodeGraph::Function> next;
    for (const CodeGraph::Function& at : level) {
      if (!seen.insert({at.module, at.symbol.address}).second) continue;
      if (const auto puts = puts_.find({at.module, at.symbol.address}); puts != puts_.end())
        families.insert(puts->second.begin(), puts->second.end());
      if (own.contains(at.module)) add_called(at, at.symbol.range(), next);
    }
    level = std::move(next);
  }
  return families;
}

}  // namespace refhist
