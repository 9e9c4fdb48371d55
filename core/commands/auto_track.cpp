#include "commands/auto_track.h"

#include <fmt/core.h>

#include <set>

#include "base/error.h"
#include "base/interruption.h"
#include "base/system_path.h"
#include "base/text.h"
#include "discover/discover.h"
#include "discover/hand_counted.h"
#include "discover/refcount_names.h"
#include "session/long_work.h"
#include "sites/inlined_facts.h"

namespace refhist {

namespace {

std::vector<std::shared_ptr<const Module>> own_modules(CommandContext& context) {
  if (!context.state.alive) context.state.modules.update(context.port);
  std::vector<std::shared_ptr<const Module>> modules;
  for (const LoadedModule* module : context.state.modules.loaded()) {
    if (!is_system_path(module->module->path())) modules.push_back(module->module);
  }
  return modules;
}

/// Of what `discover` proposes, and of what the user tracks.
std::set<std::string> known_types(const CommandContext& context, const std::vector<Proposal>& proposals) {
  std::set<std::string> types;
  for (const Proposal& proposal : proposals) types.insert(without_struct(proposal.family.counter.type));
  for (const TrackedFamily& tracked : context.state.families)
    types.insert(without_struct(tracked.family.counter.type));
  return types;
}

std::vector<Proposal> own_families(CommandContext& context) {
  LongWork work(context.port, context.state.telling(), LongWork::For::command);
  const Interruption listening([&](const Interruption::Text& doing) { return work.go_on(doing); });
  DiscoverOptions options;
  options.progress = [&](std::string_view module) {
    return work.go_on([&] { return fmt::format("searching {}", module); });
  };
  options.copies = facts_of_copies;
  const auto modules = own_modules(context);
  std::vector<Proposal> proposals = discover(modules, options);
  try {
    for (Proposal& proposal : hand_counted(modules, known_types(context, proposals)))
      proposals.push_back(std::move(proposal));
  } catch (const Interrupted&) {
    return proposals;  // what was found is still right
  }
  return proposals;
}

std::string functions_text(const Family& family) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (const ProbeSpec& probe : family.probes) names.push_back(probe.function);
  if (names.size() > kNamed) {
    names.resize(kNamed);
    names.emplace_back("…");
  }
  return join(names, ", ");
}

}  // namespace

std::string track_auto(CommandContext& context) {
  std::set<std::string> names;
  for (const TrackedFamily& tracked : context.state.families) {
    if (!tracked.untracked) names.insert(tracked.family.name);
  }
  std::size_t shipped = 0;
  for (const Family& family : context.state.shipped().families()) {
    if (family.allocator || names.contains(family.name)) continue;
    try {
      context.tracker.track(context.port, family, Tracker::Named::no);
      ++shipped;
    } catch (const Error&) {
      continue;  // another family has its functions
    }
  }
  std::string text =
      fmt::format("tracking {}, each as soon as its library is loaded\n", plural(shipped, "shipped family"));
  for (Proposal& proposal : own_families(context)) {
    const std::string line = fmt::format("tracking {} in {}: {} ({}); refhist untrack {} removes it\n",
                                         proposal.family.name, file_name(proposal.module),
                                         functions_text(proposal.family), proposal.why, proposal.family.name);
    try {
      context.tracker.track(context.port, std::move(proposal.family));
      text += line;
    } catch (const Error& error) {
      text += fmt::format("  not tracked: {}\n", error.what());
    }
  }
  return text;
}

}  // namespace refhist
