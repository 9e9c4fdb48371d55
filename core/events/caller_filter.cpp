#include "events/caller_filter.h"

#include <algorithm>

#include "base/text.h"

namespace refhist {

bool CallerFilter::excluded(Address return_pc) {
  if (excluded_.empty()) return false;
  const auto [entry, added] = by_return_pc_.try_emplace(return_pc, false);
  if (!added) return entry->second;
  const LoadedModule* module = modules_.at(return_pc - 1);
  if (module == nullptr) return false;
  std::vector<std::string> names{file_name(module->module->path())};
  for (const SourceFrame& frame : module->module->source_frames(return_pc - 1 - module->bias)) {
    names.push_back(frame.function);
  }
  entry->second = std::any_of(excluded_.begin(), excluded_.end(), [&](const std::string& glob) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return glob_match(glob, name); });
  });
  return entry->second;
}

bool CallerFilter::is_inner(const TrackedFamily& family, const Site& site, Address return_pc) const {
  const bool hands_out = site.role == Role::get && site.returns_object();
  if (!family.family.counts_unseen || !hands_out) return false;
  const LoadedModule* module = modules_.at(return_pc - 1);
  return module != nullptr && module->id == site.module;
}

}  // namespace refhist
