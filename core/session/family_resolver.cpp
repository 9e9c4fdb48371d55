#include "session/family_resolver.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "agent/site_values.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/text.h"
#include "discover/refcount_names.h"
#include "families/function_pattern.h"
#include "sites/counted_part.h"
#include "sites/inlined_sites.h"
#include "sites/object_place.h"
#include "sites/planner.h"

namespace refhist {

void check_conflicts(const SessionState& state, const Family& family) {
  for (const TrackedFamily& other : state.families) {
    if (other.untracked || other.by_default) continue;
    if (other.family.name == family.name) {
      fail("{} is already tracked: refhist status shows its sites", family.name);
    }
    for (const ProbeSpec& theirs : other.family.probes) {
      for (const ProbeSpec& ours : family.probes) {
        if (theirs.function != ours.function || theirs.inside || ours.inside) continue;
        if (theirs.only.argument != 0 && ours.only.argument != 0) continue;
        fail("{} is claimed by two families, {} ({}) and {} ({}): leave it out of one of them", ours.function,
             other.family.name, theirs.origin, family.name, ours.origin);
      }
    }
  }
}

namespace {

/// The types that the functions of one probe take or return, or those that its inlined copies were made from.
std::set<std::string> types_of(const Module& module, const ProbeSpec& probe) {
  std::set<std::string> types;
  const auto add = [&](const std::optional<Signature>& signature) {
    if (signature) types.insert(object_type(*signature, probe.object));
  };
  for (const FunctionSymbol& function : matching_functions(module, probe.function))
    add(module.signature(function));
  for (const std::string& name : inlined_functions(module, probe.function))
    add(module.inlined_signature(name));
  types.erase("");
  return types;
}

/// One of the types, where all have the counter at one place; else empty, and `note` says why.
std::string agreed_type(const SessionState& state, const std::set<std::string>& types,
                        const std::string& path, std::string& note) {
  const auto modules = state.modules.loaded();
  std::string first;
  std::optional<MemberPlace> common;
  for (const std::string& type : types) {
    const auto place = member_place(modules, type, path);
    if (common && place && place->offset == common->offset && place->size == common->size) continue;
    if (first.empty() && place) {
      first = type;
      common = place;
      continue;
    }
    note = place && common
               ? fmt::format("{} has {} at {}, {} at {}: a family of its own for each type can track them",
                             first, path, common->offset, type, place->offset)
               : fmt::format("its functions take {} as well, which has no {} (give --count-offset N)", type,
                             path);
    return {};
  }
  return first;
}

/// By the first function that tells; by globs, which may match functions of several types, only where all of
/// them agree. A type that is a glob is one of those that the functions take. Returns why nothing is known;
/// empty where nothing is to be said of that.
std::string infer_counter_type(const SessionState& state, Family& family) {
  const std::string given = family.counter.type;
  if (family.counter.path.empty() || (!given.empty() && !is_glob(given))) return {};
  const std::string pointee(trim(std::string_view(given).substr(0, given.find_last_not_of("* ") + 1)));
  if (!given.empty() && !is_glob(pointee) &&
      member_place(state.modules.loaded(), pointee, family.counter.path)) {
    family.counter.type = pointee;  // that of a pointer was given
    return {};
  }
  std::set<std::string> types;
  bool globs = !given.empty();
  // What makes an object may return a larger struct that it lies in.
  std::vector<ProbeSpec> probes = family.probes;
  std::stable_partition(probes.begin(), probes.end(), [](const ProbeSpec& probe) {
    return probe.role == Role::get || probe.role == Role::put;
  });
  for (const LoadedModule* module : state.modules.loaded()) {
    if (!module->module->has_debug_info()) continue;
    for (const ProbeSpec& probe : probes) {
      globs = globs || is_glob(probe.function);
      if (globs || types.empty()) types.merge(types_of(*module->module, probe));
    }
  }
  if (!given.empty())
    std::erase_if(types, [&](const std::string& type) {
      return !glob_match(given, type) && !glob_match(given, without_struct(type));
    });
  std::string note;
  if (globs && types.size() > 1) {
    const std::string agreed = agreed_type(state, types, family.counter.path, note);
    if (!agreed.empty() || given.empty()) family.counter.type = agreed;
  } else if (!types.empty()) {
    family.counter.type = *types.begin();
  }
  return note;
}

}  // namespace

namespace {

std::string found_counter(const CounterByCode& code) {
  const CounterSpec& spec = *code.found;
  const std::string place = spec.path.empty()
                                ? fmt::format("at offset {}", static_cast<std::int64_t>(*spec.offset))
                                : fmt::format("in {} of {}", spec.path, spec.type);
  return fmt::format("its counter is {}{}: {} and {} change it", place,
                     spec.shift == 0 ? "" : fmt::format(", in steps of {}", 1U << spec.shift), code.get,
                     code.put);
}

/// What a file says of the counter's place has to be borne out by the code. Returns what is to be told.
std::string check_counter(TrackedFamily& tracked, const std::vector<const LoadedModule*>& modules) {
  if (tracked.counter_by_code && tracked.counter_by_code->found)
    return found_counter(*tracked.counter_by_code);
  const CounterSpec& spec = tracked.family.counter;
  const bool by_file = spec.offset && tracked.family.origin != "command line";
  if (!tracked.counter || !by_file || tracked.counter->offset != *spec.offset) return {};
  if (!tracked.counter_by_code) tracked.counter_by_code = counter_by_code(tracked.family, modules);
  if (!tracked.counter_by_code || !tracked.counter_by_code->elsewhere) return {};
  const CounterByCode& code = *tracked.counter_by_code;
  tracked.counter = code.elsewhere;
  return fmt::format("its counter is read at offset {}, where {} of {} has it; the family says {}",
                     static_cast<std::int64_t>(code.elsewhere->offset), code.get, file_name(code.module),
                     static_cast<std::int64_t>(*spec.offset));
}

/// The code tells where a counter is of which the family says nothing. Returns what is to be told.
std::string find_counter(TrackedFamily& tracked, const std::vector<const LoadedModule*>& modules) {
  const std::string unknown = "its location is not given (--count MEMBER or --count-offset N)";
  if (!tracked.counter_by_code) tracked.counter_by_code = counter_by_code(tracked.family, modules);
  if (!tracked.counter_by_code) return unknown;
  const CounterByCode& code = *tracked.counter_by_code;
  if (!code.rivals.empty())
    return fmt::format("{} and {} change {} alike (give --count MEMBER)", code.get, code.put,
                       fmt::join(code.rivals, " and "));
  if (!code.found) return unknown;
  tracked.family.counter = *code.found;
  tracked.counter = place_counter(tracked.family, modules);
  return found_counter(code);
}

/// The code tells how many references a new object has of a family that does not say it. Returns what is to
/// be told.
std::string find_born(TrackedFamily& tracked, const std::vector<const LoadedModule*>& modules) {
  constexpr std::int64_t kUsual = 1;
  Family& family = tracked.family;
  if (family.born_given || !tracked.counter || !family.has_role(Role::init)) return {};
  if (!tracked.born_by_code) tracked.born_by_code = born_by_code(family, *tracked.counter, modules);
  if (!tracked.born_by_code || !tracked.born_by_code->references) return {};
  family.born = *tracked.born_by_code->references;
  if (family.born == kUsual) return {};
  return fmt::format("born: {}, read from the code of {}", family.born, tracked.born_by_code->function);
}

/// Returns what is to be told.
std::string take_counted_part(Family& family, const std::vector<const LoadedModule*>& modules) {
  const auto part = counted_part(family, modules);
  if (!part) return {};
  const std::string whole = std::exchange(family.counter.type, part->type);
  family.counter.path = part->path;
  family.counter.part_at = part->behind;
  if (family.counter.offset) *family.counter.offset -= part->behind;
  return fmt::format("its functions take a {}, which a {} contains: that is the object",
                     without_struct(part->type), without_struct(whole));
}

std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() || note.empty() ? "" : "; ") + note;
  return text;
}

/// What the counter reads when it has come to its end. The end of a long unsigned one is as good as -1.
Count full_counter(const MemberPlace& place, const CounterSpec& spec) {
  const bool plain = spec.shift == 0 && spec.scale == 1 && spec.bias == 0 && place.bits == 0;
  if (!plain || place.size == 0 || place.size > sizeof(std::int64_t)) return std::nullopt;
  const unsigned bits = 8 * place.size - (place.is_signed ? 1 : 0);
  if (!place.is_signed && !agent::is_read_unsigned(place.size, true)) return std::nullopt;
  return static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
}

/// One of several allocators with the same functions.
bool is_cache(const Family& family) {
  return std::any_of(family.probes.begin(), family.probes.end(),
                     [](const ProbeSpec& probe) { return probe.only.argument != 0; });
}

}  // namespace

void resolve_family(const SessionState& state, TrackedFamily& tracked) {
  const std::string disagreed = infer_counter_type(state, tracked.family);
  const auto modules = state.modules.loaded();
  const std::string part = take_counted_part(tracked.family, modules);
  tracked.counter = place_counter(tracked.family, modules);
  const bool said = tracked.family.allocator || is_cache(tracked.family) || tracked.family.counter.known();
  const std::string by_code = said ? check_counter(tracked, modules) : find_counter(tracked, modules);
  const std::string born = tracked.family.allocator ? std::string() : find_born(tracked, modules);
  // What manages the user's object is of a type derived from the one that is named.
  tracked.object_size = tracked.family.managed.empty() ? object_size(tracked.family, modules) : 0;
  tracked.traits.has_init = tracked.family.has_role(Role::init);
  tracked.traits.has_try_get = tracked.family.has_role(Role::try_get);
  tracked.traits.born = tracked.family.born;
  // Who begins at zero may stand at zero again, kept for another use: until its memory is given back, a get
  // is no mistake. Nor where no birth is known: it may be one.
  tracked.traits.revives = tracked.family.revives || tracked.family.born <= 0 || !tracked.traits.has_init;
  tracked.traits.counts_unseen = tracked.family.counts_unseen;
  tracked.traits.saturated =
      tracked.counter ? full_counter(*tracked.counter, tracked.family.counter) : Count();
  tracked.traits.immortal_below_zero = tracked.family.counter.immortal_below_zero;
  if (tracked.counter) {
    if (!part.empty()) tracked.part_note = part;
    tracked.counter_note = joined({tracked.part_note, by_code, born});
  } else if (tracked.family.allocator || is_cache(tracked.family)) {
    tracked.counter_note.clear();  // plain memory has no counter
  } else if (!tracked.family.counter.known()) {
    tracked.counter_note = by_code;
  } else if (!disagreed.empty()) {
    tracked.counter_note = disagreed;
  } else if (tracked.family.counter.type.empty()) {
    tracked.counter_note = fmt::format(
        "the type that has {} is not known: no debug information for its functions "
        "(give --count-offset N)",
        tracked.family.counter.path);
  } else {
    tracked.counter_note = fmt::format(
        "no loaded module has debug information for {} (give --count-offset N)", tracked.family.counter.type);
  }
}

void resolve_again(const SessionState& state, TrackedFamily& tracked) {
  try {
    resolve_family(state, tracked);
  } catch (const Interrupted& stopped) {
    tracked.counter_note = stopped.what();
  }
}

namespace {

/// The function may be inlined where debug information is missing.
std::string missing_debug_info(const std::vector<const LoadedModule*>& modules) {
  std::string text;
  for (const LoadedModule* module : modules) {
    const std::string missing = module->module->missing_debug_info();
    if (!missing.empty()) text += fmt::format("; for {}, {}", file_name(module->module->path()), missing);
  }
  return text;
}

}  // namespace

void check_functions(const SessionState& state, const TrackedFamily& tracked, bool libraries_there,
                     std::vector<std::string>& notes) {
  const auto modules = state.modules.loaded();
  if (modules.empty()) return;
  const bool typed = tracked.family.origin == "command line";
  std::vector<std::string> missing;
  for (const ProbeSpec& probe : tracked.family.probes) {
    const bool found = std::any_of(modules.begin(), modules.end(), [&](const LoadedModule* module) {
      return defines_function(*module->module, probe.function) ||
             inlines_function(*module->module, probe.function);
    });
    if (!found) missing.push_back(probe.function);
  }
  if (missing.empty()) return;
  if (!state.alive && typed && modules.front()->module->functions_named("main").empty())
    notes.push_back(fmt::format("{} is stripped: its own functions have no names to find them by",
                                file_name(modules.front()->module->path())));
  const bool all_missing = missing.size() == tracked.family.probes.size();
  if (typed) {
    const std::vector<std::string> names = function_names(modules);
    for (const std::string& name : missing) {
      const auto near = nearest(name, names);
      if (near || (libraries_there && all_missing)) {
        fail("no function {} in {}{}{}", name, plural(modules.size(), "loaded module"),
             near ? fmt::format(" (did you mean {}?)", *near) : ": check its name with info functions",
             missing_debug_info(modules));
      }
      notes.push_back(fmt::format("{} is not loaded yet: armed once a module that has it is loaded", name));
    }
  } else if (all_missing) {
    notes.push_back(fmt::format("its functions are not in {}: armed once their library is loaded",
                                state.alive ? "the loaded modules" : "the program itself"));
  }
}

}  // namespace refhist
