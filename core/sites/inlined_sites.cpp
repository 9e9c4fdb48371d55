#include "sites/inlined_sites.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/interruption.h"
#include "base/text.h"
#include "families/function_pattern.h"
#include "sites/counter_finder.h"
#include "sites/nameless_copies.h"
#include "sites/object_place.h"

namespace refhist {

namespace {

FileRange extent(const std::vector<FileRange>& ranges) {
  FileRange all = ranges.front();
  for (const FileRange& range : ranges)
    all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
  return all;
}

bool counts(Role role) {
  return role == Role::get || role == Role::put || role == Role::try_get || role == Role::init;
}

}  // namespace

Site make_site(FamilyId id, const ProbeSpec& probe, const LoadedModule& module) {
  Site site;
  site.family = id;
  site.role = probe.role;
  site.object = probe.object;
  site.only = probe.only;
  site.success = probe.success;
  site.may_exist = probe.may_exist;
  site.pool_argument = probe.pool_argument;
  site.size_argument = probe.size_argument;
  site.times_argument = probe.times_argument;
  site.arguments = probe.arguments;
  site.module = module.id;
  return site;
}

std::vector<std::string> inlined_functions(const Module& module, const std::string& text) {
  if (is_plain_name(text)) return {text};
  const FunctionPattern pattern(text);
  std::vector<std::string> names;
  for (const std::string& name : module.inlined_functions_with(pattern.needle())) {
    Interruption::tell([&] { return fmt::format("looking for inlined copies of {}", text); });
    if (pattern.matches(name, demangle(name))) names.push_back(name);
  }
  return names;
}

std::vector<std::string> InlinedSites::functions_of(const ProbeSpec& probe) const {
  std::vector<std::string> names = inlined_functions(*module_.module, probe.function);
  if (is_glob(probe.function))
    std::erase_if(names, [&](const std::string& name) { return family_.leaves_out(name, demangle(name)); });
  return names;
}

void InlinedSites::add_copies(const ProbeSpec& probe) {
  if (!module_.module->has_debug_info()) return;
  if (!shape_.stopped.empty()) return add_unknown(probe, shape_.stopped);
  try {
    for (const std::string& function : functions_of(probe)) add_copies_of(probe, function);
  } catch (const Interrupted& stopped) {
    add_unknown(probe, stopped.what());
  }
}

void InlinedSites::add_unknown(const ProbeSpec& probe, const std::string& why) {
  Site unknown = make_site(id_, probe, module_);
  unknown.function = "inlined copies of " + probe.function;
  unknown.why_not = why;
  sites_.push_back(std::move(unknown));
}

namespace {

/// The ranges of all copies, by where they begin.
std::vector<FileRange> sorted_ranges(const std::vector<InlinedCopy>& copies) {
  std::vector<FileRange> ranges;
  for (const InlinedCopy& copy : copies) ranges.insert(ranges.end(), copy.ranges.begin(), copy.ranges.end());
  std::sort(ranges.begin(), ranges.end(),
            [](const FileRange& one, const FileRange& other) { return one.begin < other.begin; });
  return ranges;
}

/// Those that lie in one of the copy's.
std::vector<FileRange> ranges_inside(const InlinedCopy& copy, const std::vector<FileRange>& sorted) {
  std::vector<FileRange> inside;
  for (const FileRange& outer : copy.ranges) {
    auto inner =
        std::lower_bound(sorted.begin(), sorted.end(), outer.begin,
                         [](const FileRange& range, Address address) { return range.begin < address; });
    for (; inner != sorted.end() && inner->begin < outer.end; ++inner) {
      if (inner->end <= outer.end && inner->end - inner->begin < outer.end - outer.begin)
        inside.push_back(*inner);
    }
  }
  return inside;
}

}  // namespace

void InlinedSites::add_copies_of(const ProbeSpec& probe, const std::string& function) {
  const std::vector<InlinedCopy> copies = module_.module->inlined_copies(function);
  if (copies.empty()) return;
  const std::vector<FileRange> sorted = sorted_ranges(copies);
  const ObjectPlace place = object_place(
      probe, [&] { return module_.module->inlined_signature(function); }, demangle(function), shape_);
  for (const InlinedCopy& copy : copies) {
    Site site = make_site(id_, probe, module_);
    site.object = place.object;
    site.success = place.success;
    site.file_address = copy.address;
    site.address = copy.address + module_.bias;
    site.function = demangle(function);
    site.inlined = true;
    site.inlined_into = fmt::format("{} ({}:{})", copy.into, file_name(copy.file), copy.line);
    add(probe, site, copy, ranges_inside(copy, sorted));
  }
}

void InlinedSites::add_inside(const ProbeSpec& probe, const FunctionSymbol& function) {
  Site site = make_site(id_, probe, module_);
  site.file_address = function.address;
  site.address = function.address + module_.bias;
  site.function = demangle(function.name);
  site.clone = clone_kind(function.name);
  InlinedCopy whole;
  whole.address = function.address;
  whole.ranges = {function.range()};
  add(probe, site, whole, {});
}

bool InlinedSites::add_lost(const ProbeSpec& probe, const FunctionSymbol& function) {
  const std::size_t first = sites_.size();
  add_inside(probe, function);
  if (sites_.size() != first + 1 || sites_.back().why_not.empty()) return sites_.size() != first;
  if (sites_.back().clone == CloneKind::whole) {
    sites_.pop_back();
    return false;
  }
  sites_.back().why_not =
      "a clone that does not return its object, and no instruction in it sets the counter";
  return true;
}

/// Inside of another function of the same role, a copy that changes no counter leaves the change to that one.
bool InlinedSites::is_part_of_probe(const Site& site, const InlinedCopy& copy) const {
  return std::any_of(family_.probes.begin(), family_.probes.end(), [&](const ProbeSpec& probe) {
    return probe.role == site.role && !probe.inside && FunctionPattern(probe.function).matches({}, copy.into);
  });
}

void InlinedSites::add(const ProbeSpec& probe, const Site& site, const InlinedCopy& copy,
                       const std::vector<FileRange>& inner) {
  if (probe.inside && copy.ranges.empty()) return;  // all of it has become something else's
  std::string why_not = site.inlined ? "an inlined copy" : "the instructions inside it are its events";
  if (counts(site.role) && !counter_) why_not += ", and the counter is not known";
  if (counts(site.role) && counter_ && !copy.ranges.empty()) {
    MemberPlace place = *counter_;
    place.offset += static_cast<std::uint64_t>(site.object.adjust);
    CounterFinder finder(*module_.module, changes_, helpers_, place, family_);
    const std::vector<CounterInstruction> changes = finder.find(copy, site.role, site.object, inner);
    for (const CounterInstruction& change : changes) {
      Site armed = site;
      armed.copy = extent(copy.ranges);
      armed.counter = change;
      armed.object = ObjectSource{};
      armed.success = Success::always;
      armed.file_address = change.address;
      armed.address = change.address + module_.bias;
      armed.size = change.length;
      sites_.push_back(std::move(armed));
    }
    if (!changes.empty()) return;
    // A constructor that leaves it to others to store the count is a birth as a whole.
    if (probe.inside && !site.inlined && site.role == Role::init) return sites_.push_back(site);
    if (probe.inside || is_part_of_probe(site, copy)) return;
    why_not += " in which no instruction was found to change the counter";
  }
  sites_.push_back(site);
  sites_.back().why_not = why_not;
}

std::vector<Site> InlinedSites::take() {
  std::set<std::pair<Address, bool>> seen;
  std::erase_if(sites_, [&](const Site& site) {
    return !seen.insert({site.address, site.counter.has_value()}).second;
  });
  std::vector<Site> nameless = nameless_copies(module_, sites_, family_, changes_);
  std::move(nameless.begin(), nameless.end(), std::back_inserter(sites_));
  return std::exchange(sites_, {});
}

}  // namespace refhist
