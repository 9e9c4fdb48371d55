#include "analysis/counted_arguments.h"

namespace refhist {

void CountedArguments::know_sites() {
  if (sites_seen_ == sites_.all().size()) return;
  sites_seen_ = sites_.all().size();
  known_.clear();
  for (const Site& site : sites_.all()) {
    const LoadedModule* loaded = modules_.get(site.module);
    if (loaded == nullptr || site.inlined || site.returns_object() || direction(site.role) == 0) continue;
    const auto [known, added] =
        known_.try_emplace({&loaded->module->code(), site.file_address}, site.object.argument);
    if (!added && known->second != site.object.argument) known->second = 0;
  }
}

unsigned CountedArguments::of(const Module& module, Address target) {
  know_sites();
  for (const CodeGraph::Function& function : graph_.entered_at(module, target)) {
    const auto found = known_.find({function.module, function.symbol.address});
    if (found != known_.end() && found->second != 0) return found->second;
  }
  return 1;
}

}  // namespace refhist
