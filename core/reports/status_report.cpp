#include "reports/status_report.h"

#include <fmt/core.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/text.h"
#include "reports/findings.h"
#include "reports/fold_notes.h"

namespace refhist {

namespace {

std::string end_line(const SessionState& state) {
  if (state.end.detached)
    return fmt::format("{}detached: the history ends at that point\n",
                       state.end.status == 0 ? "" : "killed or ");
  if (state.end.replaced) return "the process executed another program\n";
  if (state.end.by_signal) {
    return fmt::format("the process was killed by signal {} ({})\n", state.end.status,
                       strsignal(state.end.status));
  }
  return fmt::format("the process exited with status {}\n", state.end.status);
}

std::string opened_line(const SessionState& state) {
  const OpenedFile& opened = *state.opened;
  const std::time_t time = opened.saved_at;
  std::tm local{};
  localtime_r(&time, &local);
  char when[32] = "";
  std::strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("opened {}: {}, process {}, saved {}\n{}", opened.path, state.program.executable,
                     state.program.pid, when,
                     opened.was_alive ? "the process was still running then\n" : end_line(state));
}

std::string kernel_lines(const SessionState& state, DebuggerPort& port) {
  std::string text =
      fmt::format("{}{}\n", state.kernel->title(), state.recording ? "" : " (recording is off)");
  for (const std::string& note : state.kernel->notes(port)) text += fmt::format("  {}\n", note);
  return text;
}

std::string process_line(const SessionState& state, DebuggerPort& port) {
  if (state.opened) return opened_line(state);
  if (state.kernel) return kernel_lines(state, port);
  if (!state.no_kernel.empty() && !state.alive) return state.no_kernel + "\n";
  if (state.alive) {
    return fmt::format("process {}: {}{}\n", state.process.pid, state.process.executable,
                       state.recording ? "" : " (recording is off)");
  }
  if (port.process().state == ProcessState::core) return "a core file: it produces no events\n";
  return state.end.ended ? end_line(state) : "no process yet\n";
}

struct Totals {
  std::uint64_t events = 0;
  std::size_t objects = 0;
  std::size_t live = 0;
  std::size_t incomplete = 0;
};

std::vector<Totals> totals_by_family(const SessionState& state) {
  std::vector<Totals> by_family(state.families.size());
  for (const FoldedPlace& place : state.folded.places()) {
    Totals& totals = by_family[place.place.family.index()];
    totals.objects += place.objects;
    totals.events += place.events;
  }
  for (const auto& [id, object] : state.history.objects()) {
    Totals& totals = by_family[object.family.index()];
    ++totals.objects;
    totals.events += object.events;
    if (object.state == ObjectState::live) ++totals.live;
    if (!object.complete) ++totals.incomplete;
  }
  return by_family;
}

// An allocator's, followed by default: a breakpoint there would cost too much.
bool is_left_out(const SessionState& state, const Site& site) {
  return state.families[site.family.index()].by_default && !site.armed && !site.in_agent &&
         !site.why_breakpoint.empty();
}

std::string site_line(const SessionState& state, const Site& site) {
  std::string module = "?";
  if (const LoadedModule* loaded = state.modules.get(site.module)) module = file_name(loaded->module->path());
  const std::string where = site.in_place()
                                ? fmt::format("{} in {}, counted in place", site.function, site.inlined_into)
                            : site.inlined ? fmt::format("{} inlined in {}", site.function, site.inlined_into)
                                           : site.function;
  const std::string address = site.address == 0 ? "" : fmt::format("{:#x} ", site.address);
  std::string text = fmt::format("    {:<8} {}{} {}: ", role_name(site.role), address, module, where);
  if (!site.why_not.empty()) {
    text += fmt::format("not armed: {}", site.why_not);
  } else if (is_left_out(state, site)) {
    text += fmt::format("not armed, as breakpoints were not asked for (not in the agent: {})",
                        site.why_breakpoint);
  } else {
    const Site& armed = state.sites.armed_by(site);
    text += armed.in_agent ? std::string("agent")
            : armed.why_breakpoint.empty()
                ? std::string("breakpoint")
                : fmt::format("breakpoint (not in the agent: {})", armed.why_breakpoint);
  }
  if (site.why_not.empty() || site.hits != 0) text += fmt::format(", {}", plural(site.hits, "hit"));
  return text + "\n";
}

std::string family_text(const SessionState& state, FamilyId id, const Totals& totals, bool all_sites) {
  const TrackedFamily& tracked = state.families[id.index()];
  if (!state.shows(tracked)) return {};
  if (!tracked.shown_as_tracked()) {
    if (totals.objects == 0) return {};
    return fmt::format("{} (untracked): {} and {} kept\n", tracked.family.name,
                       plural(totals.events, "event"), plural(totals.objects, "object"));
  }
  if (tracked.by_default && !all_sites) return {};  // allocator_lines tells
  std::size_t armed = 0;
  std::size_t left = 0;
  std::size_t in_agent = 0;
  std::size_t unloaded = 0;
  std::string sites;
  for (const Site& site : state.sites.all()) {
    if (site.family != id || !site.current) continue;
    if (site.unloaded) {
      ++unloaded;
      if (all_sites) sites += site_line(state, site);
      continue;
    }
    ++(site.why_not.empty() && !is_left_out(state, site) ? armed : left);
    if (state.sites.armed_by(site).in_agent) ++in_agent;
    if (all_sites || site.armed || site.hits != 0) sites += site_line(state, site);
  }
  const bool there = armed + left + unloaded + totals.objects != 0;
  if (!tracked.named && !there) return {};
  std::string text =
      fmt::format("{} ({}): {}{}{}; {}, {} ({} live{})\n", tracked.family.name, tracked.family.origin,
                  plural(armed, "site"),
                  in_agent != 0 ? fmt::format(" ({} in the agent)", in_agent)
                  : armed == 0  ? ""
                                : " by breakpoint",
                  (left == 0 ? "" : fmt::format(", {} not armed (--sites)", left)) +
                      (unloaded == 0 ? "" : fmt::format(", {} in libraries unloaded since", unloaded)),
                  plural(totals.events, "event"), plural(totals.objects, "object"), totals.live,
                  totals.incomplete == 0 ? "" : fmt::format(", {} incomplete", totals.incomplete));
  if (!tracked.counter_note.empty())
    text +=
        fmt::format("    {}{}\n", tracked.counter ? "" : "the counter is not read: ", tracked.counter_note);
  if (!tracked.births_note.empty()) text += fmt::format("    {}\n", tracked.births_note);
  if (tracked.unborn_calls != 0) {
    text += fmt::format(
        "    {} on objects whose counter reads 0 or less and whose birth was not seen (static ones?): no "
        "events\n",
        plural(tracked.unborn_calls, "call"));
  }
  if (tracked.null_puts != 0)
    text += fmt::format("    {} with NULL, or a value that is no pointer: no events\n",
                        plural(tracked.null_puts, "call"));
  return text + sites;
}

std::string raw_exit_line(const SessionState& state, DebuggerPort& port) {
  if (!state.rules.any_for_raw_exit()) return {};
  if (!port.can_catch_raw_exit()) {
    return fmt::format("{} cannot stop at a system call: --raw-exit has no effect\n", port.name());
  }
  return port.raw_exit_caught() ? std::string()
                                : "the catchpoint for raw exits was deleted or disabled by somebody else: "
                                  "break-on-leak enable N restores it\n";
}

std::string allocator_line(const SessionState& state) {
  std::string names;
  std::string why_not;
  for (std::size_t i = 0; i < state.families.size(); ++i) {
    const TrackedFamily& tracked = state.families[i];
    if (!tracked.family.allocator || tracked.untracked) continue;
    bool followed = !tracked.by_default;
    for (const Site& site : state.sites.all()) {
      if (site.family != FamilyId(i) || !site.current) continue;
      followed = followed || site.in_agent;
      if (is_left_out(state, site)) why_not = ": " + site.why_breakpoint;
    }
    if (!followed) continue;
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", tracked.family.name,
                         tracked.by_default ? " (by default)" : "");
  }
  if (names.empty() && (state.kernel || !state.no_kernel.empty())) return {};
  if (names.empty()) {
    return fmt::format(
        "no allocator is tracked{} (refhist track malloc): the size and the freeing of an object's memory "
        "are known only if its family has alloc and free\n",
        why_not);
  }
  const Allocations& allocations = state.recorder.allocations();
  return fmt::format("allocators tracked: {}; {} of {} bytes allocated\n", names,
                     plural(allocations.count(), "block"), allocations.bytes());
}

}  // namespace

std::string status_report(SessionState& state, DebuggerPort& port, bool all_sites) {
  std::string text = process_line(state, port);
  if (!state.tracks_any() && !state.opened) text += "nothing is tracked: refhist track FAMILY\n";
  if (state.tracks_any() && state.opened)
    text += fmt::format("tracked from the next run on: {}\n", join(state.tracked_names(), ", "));
  const std::vector<Totals> totals = totals_by_family(state);
  for (std::size_t i = 0; i < totals.size(); ++i)
    text += family_text(state, FamilyId(i), totals[i], all_sites);
  for (const StopRule& rule : state.rules.all())
    text += fmt::format("rule {}: {}\n", rule.number, rule.status());
  text += raw_exit_line(state, port);
  text += fmt::format("{}, {}, {} of memory; stacks: {}{}\n", plural(state.history.event_count(), "event"),
                      plural(state.history.stacks().size(), "stack node"),
                      fmt::format("{:.1f} MiB", static_cast<double>(state.memory()) / 1048576.0),
                      state.recorder.options().stacks ? "full" : "none", keep_text(state));
  if (state.tracks_any() && !state.opened) text += allocator_line(state);
  if (state.alive) {
    const std::size_t lost = state.breakpoints.count_lost(port);
    if (lost != 0) {
      text += fmt::format(
          "{} of refhist {} removed or disabled by somebody else: refhist stop, then refhist start arms "
          "again\n",
          plural(lost, "breakpoint"), lost == 1 ? "was" : "were");
    }
  }
  for (const UnreadModule& module : state.modules.unread()) {
    if (module.reason == state.no_kernel) continue;  // told above
    text += fmt::format("not read: {}: {}\n", module.path, module.reason);
  }
  for (const UnreadModule& module : state.modules.from_memory()) {
    text +=
        fmt::format("read from memory: {}: {}; only exported names are known\n", module.path, module.reason);
  }
  for (const std::string& line : caveats(state)) text += fmt::format("note: {}\n", line);
  return text;
}

}  // namespace refhist
