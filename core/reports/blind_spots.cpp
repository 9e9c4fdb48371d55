#include "reports/blind_spots.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace refhist {

namespace {

constexpr std::size_t kNamed = 3;  // families without functions that have a line each

const Module* executable(const SessionState& state) {
  for (const LoadedModule* module : state.modules.all()) {
    if (module->module->path() == state.program.executable) return module->module.get();
  }
  return nullptr;
}

bool counts(Role role) {
  return role == Role::init || role == Role::get || role == Role::try_get || role == Role::put;
}

/// By family: functions of this module that have a site, and were never called.
std::map<FamilyId, std::vector<std::string>> never_called(const SessionState& state, const Module& module) {
  std::map<FamilyId, std::map<std::string, bool>> called;
  for (const Site& site : state.sites.all()) {
    const LoadedModule* in = state.modules.get(site.module);
    if (in == nullptr || in->module.get() != &module || !counts(site.role)) continue;
    bool& any = called[site.family][site.function];
    any = any || site.hits != 0 || site.inlined;
  }
  std::map<FamilyId, std::vector<std::string>> never;
  for (const auto& [family, functions] : called) {
    for (const auto& [function, any] : functions) {
      if (!any) never[family].push_back(function);
    }
  }
  return never;
}

void add_inlined(const SessionState& state, const Module& module, std::vector<std::string>& lines) {
  if (module.has_debug_info()) return;
  for (const auto& [family, functions] : never_called(state, module)) {
    const TrackedFamily& tracked = state.families[family.index()];
    if (tracked.family.allocator || tracked.untracked) continue;
    lines.push_back(fmt::format(
        "{}: {} {} never called in {}, which has no debug information: copies that the compiler has inlined "
        "cannot be seen (build it with -g)",
        state.family_name(family), fmt::join(functions, ", "), functions.size() == 1 ? "was" : "were",
        file_name(module.path())));
  }
}

void add_missing(const SessionState& state, const Module* program, std::vector<std::string>& lines) {
  const auto& sites = state.sites.all();
  const bool stripped = program != nullptr && program->functions_named("main").empty();
  const std::string why =
      stripped ? fmt::format("; {} is stripped: its own functions have no names", file_name(program->path()))
               : std::string();
  std::vector<std::string> missing;
  bool any_found = false;
  bool any_unnamed = false;
  for (std::size_t i = 0; i < state.families.size(); ++i) {
    const TrackedFamily& tracked = state.families[i];
    const bool found =
        std::any_of(sites.begin(), sites.end(), [&](const Site& site) { return site.family == FamilyId(i); });
    any_found = any_found || (found && !tracked.by_default);
    any_unnamed = any_unnamed || !tracked.named;
    if (found || tracked.by_default || tracked.untracked || !tracked.named) continue;
    missing.push_back(tracked.family.name);
  }
  if (missing.size() > kNamed) {  // a group such as glib is tracked: most programs use some of its families
    lines.push_back(fmt::format("{} ({} families): none of their functions was found{}",
                                some_of(missing, kNamed), missing.size(), why));
  } else {
    for (const std::string& name : missing)
      lines.push_back(fmt::format("{}: none of its functions was found{}", name, why));
  }
  if (any_unnamed && !any_found)
    lines.emplace_back("track auto: no reference-counted type was found in the program or its libraries");
}

}  // namespace

std::vector<std::string> blind_spots(const SessionState& state) {
  std::vector<std::string> lines;
  if (!state.alive && !state.end.ended) return lines;
  const Module* program = executable(state);
  add_missing(state, program, lines);
  if (program != nullptr) add_inlined(state, *program, lines);
  return lines;
}

}  // namespace refhist
