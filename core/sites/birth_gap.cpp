#include "sites/birth_gap.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace refhist {

namespace {

bool makes_objects(Role role) { return role == Role::init || role == Role::alloc; }

/// Its calls may run without passing a site that is armed. A split-off part runs inside the whole.
bool runs_unseen(const Site& site) {
  return !site.why_not.empty() && site.clone != CloneKind::cold && site.clone != CloneKind::part;
}

std::string birth_functions(const Family& family) {
  std::vector<std::string> names;
  for (const ProbeSpec& probe : family.probes) {
    if (makes_objects(probe.role)) names.push_back(probe.function);
  }
  return join(names, ", ");
}

/// "comm_str__new (2 copies: an inlined copy)", for every function with such sites.
std::string unseen_functions(const std::vector<const Site*>& unseen) {
  std::map<std::string, std::vector<const Site*>> by_function;
  for (const Site* site : unseen) by_function[site->function].push_back(site);
  std::vector<std::string> told;
  for (const auto& [function, sites] : by_function) {
    const bool inlined = std::all_of(sites.begin(), sites.end(), [](const Site* s) { return s->inlined; });
    const std::string copies = sites.size() == 1 ? "1 copy" : fmt::format("{} copies", sites.size());
    told.push_back(inlined ? fmt::format("{} (inlined, {})", function, copies)
                           : fmt::format("{} ({}: {})", function, copies, sites.front()->why_not));
  }
  return join(told, ", ");
}

}  // namespace

std::string birth_gap(const Family& family, const std::vector<Site>& sites) {
  if (family.allocator || sites.empty()) return {};
  const std::string names = birth_functions(family);
  if (names.empty())
    return "no function that creates objects is given (init): every object will be incomplete";
  std::vector<const Site*> unseen;
  bool birth_armed = false;
  bool other_armed = false;
  for (const Site& site : sites) {
    if (!makes_objects(site.role)) {
      other_armed = other_armed || site.why_not.empty();
    } else if (site.why_not.empty()) {
      birth_armed = true;
    } else if (runs_unseen(site)) {
      unseen.push_back(&site);
    }
  }
  if (!unseen.empty()) {
    return fmt::format("births in {} will not be seen, as it is not armed: {} incomplete",
                       unseen_functions(unseen),
                       birth_armed ? "the objects created there will be" : "every object will be");
  }
  if (birth_armed || !other_armed) return {};
  return fmt::format(
      "{} is in no module loaded so far: every object is incomplete until one that has it is loaded", names);
}

}  // namespace refhist
