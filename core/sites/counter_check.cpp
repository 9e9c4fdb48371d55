#include "sites/counter_check.h"

#include "discover/refcount_evidence.h"
#include "sites/planner.h"

namespace refhist {

namespace {

/// The first function of that role in the module that gets the object itself as an argument.
struct Found {
  const ProbeSpec* probe = nullptr;
  FunctionSymbol function;
};
std::optional<Found> first_of(const Family& family, Role role, const Module& module) {
  for (const ProbeSpec& probe : family.probes) {
    const bool plain = probe.object.from == ObjectSource::From::argument && !probe.object.indirect &&
                       probe.object.adjust == 0 && !probe.inside && probe.times_argument == 0;
    if (probe.role != role || !plain) continue;
    const std::vector<FunctionSymbol> functions = matching_functions(module, probe.function);
    if (!functions.empty() && !functions.front().ifunc) return Found{&probe, functions.front()};
  }
  return std::nullopt;
}

}  // namespace

std::optional<CounterByCode> counter_by_code(const Family& family,
                                             const std::vector<const LoadedModule*>& modules) {
  for (const LoadedModule* module : modules) {
    if (!wants_module(family, *module->module)) continue;
    const auto get = first_of(family, Role::get, *module->module);
    const auto put = first_of(family, Role::put, *module->module);
    if (!get || !put) continue;
    const FunctionIndex index({module->module});
    const CodeWalker walker(index);
    const auto walk = [&](const Found& found) {
      WalkedFunction walked;
      walked.facts = walker.walk({module->module.get(), found.function.address}, walked.values);
      return walked;
    };
    CounterByCode found{module->module->path(), get->function.name, std::nullopt};
    const WalkedFunction taken = walk(*get);
    const auto seen = find_counter(taken, walk(*put), true);
    if (!seen || seen->get_argument != get->probe->object.argument ||
        seen->put_argument != put->probe->object.argument)
      return found;
    CounterEvidence as_said = *seen;
    as_said.offset = static_cast<std::int64_t>(*family.counter.offset);
    if (!changes_counter(taken, seen->get_argument, as_said))
      found.elsewhere = {static_cast<std::uint64_t>(seen->offset), seen->size, true};
    return found;
  }
  return std::nullopt;
}

}  // namespace refhist
