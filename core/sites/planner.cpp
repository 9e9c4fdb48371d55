#include "sites/planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/interruption.h"
#include "base/text.h"
#include "probes/function_pattern.h"
#include "sites/clone_reader.h"
#include "sites/counter_finder.h"
#include "sites/indirect_functions.h"

namespace refhist {

namespace {

bool wants_module(const Family& family, const Module& module) {
  const std::string name = file_name(module.path());
  bool wanted = true;
  for (const std::string& glob : family.modules) {
    const bool without = glob.starts_with('!');
    if (&glob == &family.modules.front()) wanted = without;
    if (glob_match(without ? glob.substr(1) : glob, name)) wanted = !without;
  }
  return wanted;
}

Site make_site(FamilyId id, const ProbeSpec& probe, const LoadedModule& module) {
  Site site;
  site.family = id;
  site.role = probe.role;
  site.object = probe.object;
  site.success = probe.success;
  site.pool_argument = probe.pool_argument;
  site.size_argument = probe.size_argument;
  site.times_argument = probe.times_argument;
  site.module = module.id;
  return site;
}

/// Arms a clone only when its code tells where the object is and that it does what the function does.
void judge_clone(Site& site, const Family& family, const std::optional<MemberPlace>& counter,
                 const LoadedModule& module) {
  if (site.clone == CloneKind::cold) {
    site.why_not = "a cold part of the function, reached only from inside it";
    return;
  }
  const bool same_result = site.object.from == ObjectSource::From::result && site.clone != CloneKind::part;
  if (same_result) return;
  const int step = site.role == Role::put ? -1 : site.role == Role::get || site.role == Role::try_get ? 1 : 0;
  if (!counter || step == 0) {
    site.why_not = "a clone whose arguments may differ from the function's, and no counter to tell by";
    return;
  }
  const auto argument =
      object_argument_of_clone(module.module, site.file_address, *counter, family.counter, step);
  if (argument) {
    site.object.argument = static_cast<std::uint8_t>(*argument);
    return;
  }
  site.why_not = site.clone == CloneKind::part
                     ? "a split-off part of the function that does not change the counter"
                     : "a clone whose code does not show where the object is";
}

/// Functions whose symbol is `name` or a clone of it; the list is sorted by name.
std::span<const FunctionSymbol> with_clones(const std::vector<FunctionSymbol>& functions,
                                            const std::string& name) {
  const auto before = [](const FunctionSymbol& function, const std::string& text) {
    return function.name < text;
  };
  const auto begin = std::lower_bound(functions.begin(), functions.end(), name, before);
  auto end = begin;
  while (end != functions.end() && end->name.starts_with(name)) ++end;
  return {begin, end};
}

/// The functions that the pattern can match at all: few for a plain C name, else all.
std::span<const FunctionSymbol> candidates(const Module& module, const std::string& pattern) {
  const std::vector<FunctionSymbol>& functions = module.functions();
  const bool plain_name = !is_glob(pattern) && pattern.find_first_of(":( ") == std::string::npos;
  return plain_name ? with_clones(functions, pattern) : std::span(functions);
}

/// The functions that an indirect one may stand for, in its place. False, with the reason, when they are not
/// known.
bool add_choices(Site& site, const Module& module, const ModuleCode& code, const FunctionSymbol& resolver,
                 std::map<Address, Site>& by_address) {
  const std::vector<FunctionExtent> choices = functions_to_choose(module, code, resolver);
  if (choices.empty()) site.why_not = "an indirect function: which one runs is not seen from its code";
  for (const FunctionExtent& choice : choices) {
    Site chosen = site;
    chosen.file_address = choice.address;
    chosen.address = site.address - site.file_address + choice.address;
    chosen.size = choice.size;
    by_address.try_emplace(choice.address, std::move(chosen));
  }
  return !choices.empty();
}

void add_functions(FamilyId id, const Family& family, const ProbeSpec& probe, const LoadedModule& module,
                   std::map<Address, Site>& by_address) {
  const FunctionPattern pattern(probe.function);
  std::optional<ModuleCode> code;  // read when the first indirect function is found
  for (const FunctionSymbol& function : candidates(*module.module, probe.function)) {
    const std::string demangled = demangle(function.name);
    if (!pattern.matches(function.name, demangled)) continue;
    if (pattern.is_glob() && family.leaves_out(function.name, demangled)) continue;
    Site site = make_site(id, probe, module);
    site.file_address = function.address;
    site.address = function.address + module.bias;
    site.size = function.size;
    site.function = demangled;
    site.clone = clone_kind(function.name);
    if (function.ifunc) {
      if (!code) code.emplace(*module.module, 0);
      if (add_choices(site, *module.module, *code, function, by_address)) continue;
    }
    by_address.try_emplace(function.address,
                           std::move(site));  // an alias at the same address is the same code
  }
}

FileRange extent(const std::vector<FileRange>& ranges) {
  FileRange all = ranges.front();
  for (const FileRange& range : ranges)
    all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
  return all;
}

/// The sites of one inlined copy: the instructions that change the counter, or the copy with the reason.
std::vector<Site> sites_of_copy(Site site, const InlinedCopy& copy, const std::optional<MemberPlace>& counter,
                                const LoadedModule& module) {
  const bool counts = site.role == Role::get || site.role == Role::put || site.role == Role::try_get ||
                      site.role == Role::init;
  if (!counter || !counts || copy.ranges.empty()) {
    site.why_not = counts ? "an inlined copy, and the counter is not known" : "an inlined copy";
    return {site};
  }
  site.copy = extent(copy.ranges);
  CounterFinder finder(*module.module, *counter, site.role);
  std::vector<Site> sites;
  for (const CounterInstruction& change : finder.find(copy)) {
    Site armed = site;
    armed.counter = change;
    armed.object = ObjectSource{};
    armed.success = Success::always;
    armed.file_address = change.address;
    armed.address = change.address + module.bias;
    armed.size = change.length;
    sites.push_back(std::move(armed));
  }
  if (!sites.empty()) return sites;
  site.why_not = "an inlined copy in which no instruction is seen to change the counter";
  return {site};
}

void add_inlined(FamilyId id, const ProbeSpec& probe, const std::optional<MemberPlace>& counter,
                 const LoadedModule& module, std::vector<Site>& sites) {
  if (is_glob(probe.function) || !module.module->has_debug_info()) return;
  std::vector<InlinedCopy> copies;
  try {
    copies = module.module->inlined_copies(probe.function);
  } catch (const Interrupted& stopped) {
    Site unknown = make_site(id, probe, module);
    unknown.function = "inlined copies of " + probe.function;
    unknown.why_not = stopped.what();
    sites.push_back(std::move(unknown));
  }
  for (const InlinedCopy& copy : copies) {
    Site site = make_site(id, probe, module);
    site.file_address = copy.address;
    site.address = copy.address + module.bias;
    site.function = probe.function;
    site.inlined = true;
    site.inlined_into = fmt::format("{} ({}:{})", copy.into, file_name(copy.file), copy.line);
    for (Site& each : sites_of_copy(std::move(site), copy, counter, module)) sites.push_back(std::move(each));
  }
}

/// A copy inside of another one shares its instructions: each is one site, of the probe that comes first.
void drop_repeated(std::vector<Site>& sites) {
  std::set<Address> seen;
  std::erase_if(sites, [&](const Site& site) { return site.counter && !seen.insert(site.address).second; });
}

}  // namespace

std::vector<Site> plan_sites(FamilyId id, const Family& family, const std::optional<MemberPlace>& counter,
                             const LoadedModule& module) {
  std::vector<Site> sites;
  if (!wants_module(family, *module.module)) return sites;
  std::map<Address, Site> by_address;
  for (const ProbeSpec& probe : family.probes) add_functions(id, family, probe, module, by_address);
  for (auto& [address, site] : by_address) {
    if (site.clone != CloneKind::whole) judge_clone(site, family, counter, module);
    sites.push_back(std::move(site));
  }
  for (const ProbeSpec& probe : family.probes) add_inlined(id, probe, counter, module, sites);
  drop_repeated(sites);
  return sites;
}

std::optional<MemberPlace> place_counter(const Family& family,
                                         const std::vector<const LoadedModule*>& modules) {
  const CounterSpec& counter = family.counter;
  if (!counter.path.empty() && !counter.type.empty()) {
    for (const LoadedModule* module : modules) {
      if (!module->module->has_debug_info()) continue;
      if (const auto place = module->module->member(counter.type, counter.path)) return place;
    }
  }
  if (!counter.offset) return std::nullopt;
  return MemberPlace{*counter.offset, counter.size, true};
}

std::uint64_t object_size(const Family& family, const std::vector<const LoadedModule*>& modules) {
  if (family.counter.type.empty()) return 0;
  for (const LoadedModule* module : modules) {
    if (!module->module->has_debug_info()) continue;
    if (const auto size = module->module->type_size(family.counter.type)) return *size;
  }
  return 0;
}

bool defines_function(const Module& module, const std::string& pattern) {
  const FunctionPattern compiled(pattern);
  const auto functions = candidates(module, pattern);
  return std::any_of(functions.begin(), functions.end(), [&](const FunctionSymbol& function) {
    return compiled.matches(function.name, demangle(function.name));
  });
}

std::vector<std::string> function_names(const std::vector<const LoadedModule*>& modules) {
  std::set<std::string> names;
  for (const LoadedModule* module : modules) {
    for (const FunctionSymbol& function : module->module->functions()) {
      if (clone_kind(function.name) == CloneKind::whole) names.insert(function_part(demangle(function.name)));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace refhist
