#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/lifetime.h"
#include "base/error.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"
#include "events/program_access.h"
#include "reports/findings.h"
#include "reports/history_report.h"
#include "reports/json_report.h"
#include "reports/leak_report.h"
#include "reports/reference_report.h"
#include "reports/status_report.h"
#include "session/reach_scans.h"

namespace refhist {

namespace {

bool looks_like_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEFxX") == std::string::npos &&
         text.front() >= '0' && text.front() <= '9';
}

/// Behind the event that --at names; invalid without.
EventId moment_of(const CommandContext& context) {
  if (!context.arguments.has("--at")) return {};
  const std::int64_t event = context.arguments.number("--at", 0);
  const auto events = static_cast<std::int64_t>(context.state.history.event_count());
  if (event < 0 || event >= events)
    fail("--at must be an event number from 0 to {}, not {}", events - 1, event);
  return EventId(static_cast<std::uint32_t>(event + 1));
}

Stacks stacks_of(const Arguments& arguments) {
  if (!arguments.has("--stacks")) return Stacks::none;
  return arguments.value("--stacks") == "full" ? Stacks::full : Stacks::folded;
}

std::size_t most_events(const Arguments& arguments) {
  if (arguments.value("--events") == "all") return std::numeric_limits<std::size_t>::max();
  const std::int64_t most = arguments.number("--events", kListedEvents);
  if (most < 0) fail("--events must be a number of events or all, not {}", most);
  return static_cast<std::size_t>(most);
}

/// A smart pointer's variable: what one of its two words points at.
std::vector<ObjectId> held_at(CommandContext& context, Address address) {
  const SessionState& state = context.state;
  if (!state.alive || context.port.process().state == ProcessState::running) return {};
  const ProgramAccess access(context.port, state.process, state.tracer_here);
  for (const Address place : {address + sizeof(Address), address}) {
    Address pointer = 0;
    if (!access.read_word(place, pointer)) continue;
    std::vector<ObjectId> found = state.history.all_at(pointer);
    if (found.empty()) continue;
    context.text += fmt::format("{:#x} points at\n", place);
    return found;
  }
  return {};
}

/// Of families that have named the struct which contains their objects: what it has there.
std::vector<ObjectId> parts_of(const SessionState& state, Address whole) {
  std::vector<ObjectId> found;
  for (std::size_t i = 0; i < state.families.size(); ++i) {
    const auto& part_at = state.families[i].family.counter.part_at;
    if (!part_at) continue;
    for (const ObjectId id : state.history.all_at(whole + *part_at)) {
      if (state.history.object(id).family.index() == i) found.push_back(id);
    }
  }
  return found;
}

std::vector<ObjectId> objects_at(CommandContext& context, Address address) {
  std::vector<ObjectId> found = context.state.managed.managing(address);
  if (found.empty()) found = context.state.history.all_at(address);
  if (found.empty()) found = parts_of(context.state, address);
  if (found.empty()) found = context.state.history.containing(address);
  if (found.empty()) found = held_at(context, address);
  if (found.empty()) {
    if (!context.state.tracks_any() && !context.state.opened)
      fail("nothing is tracked: refhist track FAMILY first");
    fail(
        "{:#x} was never seen: no tracked object begins there or is known to contain it (refhist objects "
        "lists them)",
        address);
  }
  return found;
}

/// Of two families, at one address, at one time: the references of different kinds to one thing.
bool are_twins(const Object& one, const Object& other) {
  const auto begins_after = [](const Object& later, const Object& earlier) {
    return earlier.state != ObjectState::live && earlier.last_event < later.first_event;
  };
  return one.family != other.family && one.address == other.address && !begins_after(one, other) &&
         !begins_after(other, one);
}

std::vector<ObjectId> choose(CommandContext& context, std::vector<ObjectId> found, Address address) {
  const History& history = context.state.history;
  if (context.arguments.has("--generation")) {
    const std::int64_t wanted = context.arguments.number("--generation", 1);
    std::erase_if(found, [&](ObjectId id) { return history.object(id).generation != wanted; });
    if (found.empty() && history.has_folded())
      fail("{:#x} has no generation {}, or it was summarized by birthplace: --all lists what there is",
           address, wanted);
    if (found.empty()) fail("{:#x} has no generation {}: --all lists them", address, wanted);
    return found;
  }
  if (context.arguments.has("--all")) return found;
  if (const EventId moment = moment_of(context); moment.valid()) {
    const auto lived = std::find_if(found.rbegin(), found.rend(), [&](ObjectId id) {
      return lifetime_of(history.object(id)).covers(moment);
    });
    return {lived != found.rend() ? *lived : found.back()};
  }
  // The one that lives there now, else the last one that did; of two families that count one thing, both.
  const auto live = std::find_if(found.rbegin(), found.rend(),
                                 [&](ObjectId id) { return history.object(id).state == ObjectState::live; });
  const ObjectId chosen = live != found.rend() ? *live : found.back();
  std::erase_if(found, [&](ObjectId id) {
    return id != chosen && !are_twins(history.object(id), history.object(chosen));
  });
  return found;
}

}  // namespace

Address address_named(CommandContext& context, const std::string& expression) {
  if (looks_like_number(expression)) {
    std::size_t used = 0;
    try {
      const Address address = std::stoull(expression, &used, 0);
      if (used == expression.size()) return address;
    } catch (const std::exception&) {
      fail("{} is not an address", expression);
    }
  }
  try {
    return context.port.evaluate(expression);
  } catch (const Error& error) {
    const auto near = expression.find_first_of(" (*&$>") == std::string::npos
                          ? nearest(expression, verb_names())
                          : std::nullopt;
    if (near)
      fail("{} is neither a command nor an expression (did you mean refhist {}?): {}", expression, *near,
           error.what());
    throw;
  }
}

FindingFilter finding_filter(const Arguments& arguments) {
  return FindingFilter{arguments.all("--family"), arguments.has("--reachable")};
}

std::vector<ObjectId> objects_named(CommandContext& context) {
  const Address address = address_named(context, join(context.arguments.words(), " "));
  look_at_managed(context.state, context.port);
  return choose(context, objects_at(context, address), address);
}

/// Objects that were at this address and have been folded.
std::size_t folded_at(const History& history, Address address) {
  std::map<FamilyId, std::pair<std::uint32_t, std::uint32_t>> seen;  // how many, and the highest generation
  for (const ObjectId id : history.all_at(address)) {
    auto& [count, generation] = seen[history.object(id).family];
    ++count;
    generation = std::max(generation, history.object(id).generation);
  }
  std::size_t folded = 0;
  for (const auto& [family, of] : seen) folded += of.second - of.first;
  return folded;
}

void run_history(CommandContext& context) {
  if (context.arguments.words().empty()) fail("usage: refhist ADDR|EXPR");
  const std::string expression = join(context.arguments.words(), " ");
  const Address address = address_named(context, expression);
  const EventId moment = moment_of(context);
  const std::size_t most = most_events(context.arguments);
  look_at_managed(context.state, context.port);
  const std::vector<ObjectId> chosen = choose(context, objects_at(context, address), address);
  const bool references = context.arguments.has("--references");
  if (references && moment.valid()) fail("--references covers the full history: leave out --at");
  if (context.arguments.has("--json")) {
    context.text = objects_json(context.state, chosen, {most, moment, references});
    return;
  }
  LeakFinder finder = context.state.leak_finder();
  EventPairs& pairs = finder.pairs();
  if (references) {
    for (const ObjectId id : chosen) context.text += reference_report(context.state, pairs, id);
    return;
  }
  const std::vector<ReportedFinding> findings = collect_findings(context.state, FindingFilter{{}, true});
  for (const ObjectId id : chosen) {
    const Object& object = context.state.history.object(id);
    const auto managed = context.state.managed.of(id);
    const bool inside = address > object.address && address - object.address < object.size;
    if (inside && (!managed || managed->address != address)) {
      context.text += fmt::format("{:#x} is {} bytes into\n", address, address - object.address);
    }
    context.text += history_report(context.state, pairs, id, findings,
                                   HistoryReportOptions{stacks_of(context.arguments), moment, most});
  }
  const std::size_t others = context.state.history.all_at(address).size();
  if (others > chosen.size())
    context.text += fmt::format("{} lived at this address: --all shows them\n", plural(others, "object"));
  if (const std::size_t folded = folded_at(context.state.history, address); folded != 0)
    context.text += fmt::format("{} that lived at this address before {} only summarized by birthplace\n",
                                plural(folded, "object"), folded == 1 ? "is" : "are");
}

void run_objects(CommandContext& context) {
  context.arguments.expect_words(0, "objects");
  look_at_managed(context.state, context.port);
  const FindingFilter filter = finding_filter(context.arguments);
  std::vector<ObjectId> chosen;
  for (const auto& [id, object] : context.state.history.objects()) {
    const bool wanted = context.arguments.has("--all") || object.state == ObjectState::live;
    if (wanted && filter.wants(context.state.family_name(object.family))) chosen.push_back(id);
  }
  if (context.arguments.has("--json")) {
    context.text = objects_json(context.state, chosen, {kListedEvents, {}, false});
    return;
  }
  for (const ObjectId id : chosen) {
    const Object& object = context.state.history.object(id);
    const std::string born =
        object.born.valid()
            ? "in " + FrameNamer::text(context.state.namer.owner(context.state.history.event(object.born)))
            : std::string("unseen");
    context.text += fmt::format("{}: {}, {}; born {}\n", object_title(context.state, id), state_text(object),
                                plural(object.events, "event"), born);
  }
  context.text +=
      fmt::format("{}\n", plural(chosen.size(), context.arguments.has("--all") ? "object" : "live object"));
}

void run_leaks(CommandContext& context) {
  context.arguments.expect_words(0, "leaks");
  scan_if_alive(context.state, context.port);
  const FindingFilter filter = finding_filter(context.arguments);
  const std::string suppressions = user_path(context.arguments.value("--suppressions"));
  const LeakReportOptions options{filter, stacks_of(context.arguments), suppressions};
  context.text = context.arguments.has("--json") ? leaks_json(context.state, filter, suppressions)
                                                 : leak_report(context.state, options);
}

void run_status(CommandContext& context) {
  context.arguments.expect_words(0, "status");
  context.tracker.look_for_kernel(context.port);
  context.text = context.arguments.has("--json")
                     ? status_json(context.state, context.port)
                     : status_report(context.state, context.port, context.arguments.has("--sites"));
}

}  // namespace refhist
