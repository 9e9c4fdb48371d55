#include "sites/planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/system_path.h"
#include "base/text.h"
#include "families/function_pattern.h"
#include "sites/clone_reader.h"
#include "sites/forwarded.h"
#include "sites/indirect_functions.h"
#include "sites/inlined_sites.h"
#include "sites/object_place.h"
#include "sites/sites_in_place.h"
#include "sites/thunk.h"

namespace refhist {

namespace {

/// Arms a clone only when its code tells where the object is and that it does what the function does.
void judge_clone(Site& site, const Family& family, const std::optional<MemberPlace>& counter,
                 const LoadedModule& module) {
  if (site.clone == CloneKind::cold) {
    site.why_not = "a cold part of the function, reached only from inside it";
    return;
  }
  const bool same_result = site.returns_object() && site.clone != CloneKind::part;
  if (same_result) return;
  const int step = site.role == Role::put ? -1 : site.role == Role::get || site.role == Role::try_get ? 1 : 0;
  if (!counter || step == 0) {
    site.why_not = "a clone whose arguments may differ from the function's, with no counter to check that by";
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

/// The functions that the pattern can match at all: few for a plain name, in C or outside of every scope in
/// C++, else all.
std::vector<std::span<const FunctionSymbol>> candidates(const Module& module, const std::string& pattern) {
  if (!is_plain_name(pattern)) return {module.functions()};
  return {functions_from(module, pattern),
          functions_from(module, fmt::format("_Z{}{}", pattern.size(), pattern)),
          functions_from(module, fmt::format("_ZL{}{}", pattern.size(), pattern))};  // static
}

template <class Visit>
void for_each_match(const Module& module, const std::string& text, Visit&& visit) {
  const FunctionPattern pattern(text);
  for (const auto& functions : candidates(module, text)) {
    for (const FunctionSymbol& function : functions) {
      if (function.name.find(pattern.needle()) == std::string::npos) continue;
      const std::string demangled = demangle(function.name);
      if (pattern.matches(function.name, demangled)) visit(function, demangled);
    }
  }
}

/// The functions that an indirect one may stand for, in its place. False, with the reason, when they are not
/// known.
bool add_choices(Site& site, const Module& module, const ModuleCode& code, const FunctionSymbol& resolver,
                 std::map<Address, Site>& by_address) {
  const std::vector<FunctionExtent> choices = functions_to_choose(module, code, resolver);
  if (choices.empty()) site.why_not = "an indirect function: its code does not show which one runs";
  for (const FunctionExtent& choice : choices) {
    Site chosen = site;
    chosen.file_address = choice.address;
    chosen.address = site.address - site.file_address + choice.address;
    chosen.size = choice.size;
    by_address.try_emplace(choice.address, std::move(chosen));
  }
  return !choices.empty();
}

bool defines_plain(const Family& family, Role role, const Module& module) {
  return std::any_of(family.probes.begin(), family.probes.end(), [&](const ProbeSpec& probe) {
    return probe.role == role && !is_glob(probe.function) && !module.functions_named(probe.function).empty();
  });
}

bool defines_get_and_put(const Family& family, const Module& module) {
  return defines_plain(family, Role::get, module) && defines_plain(family, Role::put, module);
}

/// A static function of a system library that happens to have the name of one of the user's: libc has a
/// buffer_free().
bool is_namesake(const Family& family, const Module& module, const FunctionSymbol& function) {
  return family.modules.empty() && !function.exported && is_system_path(module.path()) &&
         !defines_get_and_put(family, module);
}

/// A glob's functions may be of types that keep the counter elsewhere, in a module that was loaded after the
/// family was settled. Empty when this one does not.
std::string why_elsewhere(const Family& family, const ProbeSpec& probe, const MemberPlace& counter,
                          const Module& module, const FunctionSymbol& function) {
  if (!is_glob(probe.function) || family.counter.path.empty()) return {};
  const auto signature = module.signature(function);
  const std::string type = signature ? object_type(*signature, probe.object) : std::string();
  if (type.empty()) return {};
  try {
    const auto place = module.member(type, family.counter.path);
    const bool same = !place || (place->offset == counter.offset && place->size == counter.size);
    return same ? std::string()
                : fmt::format("{} has {} at {}, not at {}: a family of its own can track it", type,
                              family.counter.path, place->offset, counter.offset);
  } catch (const Error& error) {
    return error.what();
  }
}

/// Adds a maker that does not return its object any more by the instructions in it that set the counter. GCC
/// gives such a copy another name, Clang does not.
bool add_without_result(const ProbeSpec& probe, const Site& site, const FunctionSymbol& function,
                        const std::optional<MemberPlace>& counter, const LoadedModule& module,
                        InlinedSites& inside) {
  const bool clone = site.clone != CloneKind::whole;
  const bool maker = site.role == Role::init || (site.role == Role::alloc && clone);
  const bool alone = !function.exported && site.returns_object();
  if (!maker || !alone || site.clone == CloneKind::cold) return false;
  const bool counts = site.role == Role::init;
  const MakerResult result =
      maker_result(module.module, function.address, counts ? counter : std::optional<MemberPlace>());
  if (result == MakerResult::object || (result == MakerResult::unclear && !clone)) return false;
  return inside.add_lost(probe, function);
}

void add_functions(FamilyId id, const Family& family, const ProbeSpec& probe,
                   const std::optional<MemberPlace>& counter, const LoadedModule& module,
                   const ObjectShape& shape, InlinedSites& inside, std::map<Address, Site>& by_address) {
  std::optional<ModuleCode> code;  // read when the first indirect function is found
  for_each_match(
      *module.module, probe.function, [&](const FunctionSymbol& function, const std::string& demangled) {
        if (is_glob(probe.function) && family.leaves_out(function.name, demangled)) return;
        if (is_namesake(family, *module.module, function)) return;
        Site site = make_site(id, probe, module);
        site.file_address = function.address;
        site.address = function.address + module.bias;
        site.size = function.size;
        site.function = demangled;
        // Where an allocator has its block, its family says: the C library's debug information is not opened.
        const auto signature = [&] {
          return family.allocator ? std::nullopt : module.module->signature(function);
        };
        const ObjectPlace place = object_place(probe, signature, demangled, shape);
        site.object = place.object;
        site.success = place.success;
        site.clone = clone_kind(function.name);
        if (counter) site.why_not = why_elsewhere(family, probe, *counter, *module.module, function);
        if (const auto thunk = read_thunk(*module.module, function)) {
          if (thunk->goes_on) return;
          site.object.adjust += thunk->adjust.value_or(0);
          if (!thunk->adjust) site.why_not = "a thunk that finds the object through its virtual table";
        }
        if (function.ifunc) {
          if (!code) code.emplace(*module.module, 0);
          if (add_choices(site, *module.module, *code, function, by_address)) return;
        }
        if (add_without_result(probe, site, function, counter, module, inside)) return;
        if (const auto there = counter
                                   ? forwarded_to(*module.module, function, probe, *counter, family.counter)
                                   : std::nullopt) {
          site.file_address = *there;
          site.address = *there + module.bias;
          site.size = 0;
        }
        by_address.try_emplace(site.file_address,
                               std::move(site));  // an alias at the same address is the same code
      });
}

/// Adds the instructions of a probe that asks for them. Such a function's entry is no event.
void add_inside(const ProbeSpec& probe, const LoadedModule& module, InlinedSites& sites) {
  for_each_match(*module.module, probe.function, [&](const FunctionSymbol& function, const std::string&) {
    sites.add_inside(probe, function);
  });
}

}  // namespace

namespace {

/// A program that has the library linked into it.
bool has_library_inside(const Family& family, const Module& module) {
  const std::string name = file_name(module.path());
  if (module.entry_point() == 0 || name.starts_with("lib") || name.starts_with("ld-")) return false;
  return defines_get_and_put(family, module);
}

}  // namespace

bool wants_module(const Family& family, const Module& module) {
  const std::string name = file_name(module.path());
  bool wanted = true;
  for (const std::string& glob : family.modules) {
    const bool without = glob.starts_with('!');
    if (&glob == &family.modules.front()) wanted = without;
    if (glob_match(without ? glob.substr(1) : glob, name)) wanted = !without;
  }
  return wanted || has_library_inside(family, module);
}

std::vector<Site> plan_sites(FamilyId id, const Family& family, const std::optional<MemberPlace>& counter,
                             const LoadedModule& module) {
  std::vector<Site> sites;
  if (!wants_module(family, *module.module)) return sites;
  std::map<Address, Site> by_address;
  const ObjectShape shape = object_shape(family, counter, *module.module);
  InlinedSites inlined(id, family, counter, module, shape);
  for (const ProbeSpec& probe : family.probes) {
    if (probe.inside) {
      add_inside(probe, module, inlined);
    } else {
      add_functions(id, family, probe, counter, module, shape, inlined, by_address);
    }
  }
  for (auto& [address, site] : by_address) {
    if (site.clone != CloneKind::whole) judge_clone(site, family, counter, module);
    sites.push_back(std::move(site));
  }
  for (const ProbeSpec& probe : family.probes) inlined.add_copies(probe);
  for (Site& site : inlined.take()) sites.push_back(std::move(site));
  for (Site& site : SitesInPlace(id, family, counter, module).find(sites)) sites.push_back(std::move(site));
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
  constexpr unsigned kShort = 2;  // such counters are unsigned, mostly
  return MemberPlace{*counter.offset, counter.size, counter.size > kShort};
}

std::optional<MemberPlace> member_place(const std::vector<const LoadedModule*>& modules,
                                        const std::string& type, const std::string& path) {
  for (const LoadedModule* module : modules) {
    if (!module->module->has_debug_info()) continue;
    try {
      if (const auto place = module->module->member(type, path)) return place;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::uint64_t object_size(const Family& family, const std::vector<const LoadedModule*>& modules) {
  if (family.counter.type.empty()) return 0;
  for (const LoadedModule* module : modules) {
    if (!module->module->has_debug_info()) continue;
    if (const auto size = module->module->type_size(family.counter.type)) return *size;
  }
  return 0;
}

std::vector<FunctionSymbol> matching_functions(const Module& module, const std::string& pattern) {
  std::vector<FunctionSymbol> found;
  for_each_match(module, pattern,
                 [&](const FunctionSymbol& function, const std::string&) { found.push_back(function); });
  return found;
}

bool inlines_function(const Module& module, const std::string& pattern) {
  const std::vector<std::string> names = inlined_functions(module, pattern);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return !module.inlined_copies(name).empty(); });
}

bool defines_function(const Module& module, const std::string& pattern) {
  return !matching_functions(module, pattern).empty();
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
