#include "reports/history_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/lifetime.h"
#include "base/short_name.h"
#include "base/text.h"
#include "reports/fold_notes.h"

namespace refhist {

namespace {

std::string count_text(const Event& event) {
  if (event.role == Role::init || event.role == Role::alloc)
    return fmt::format("-> {}", shown_count(event.after));
  if (event.role == Role::use) return {};
  if (event.role == Role::free)
    return event.before ? fmt::format("at {}", shown_count(event.before)) : std::string();
  if (event.failed) return fmt::format("{} (failed)", shown_count(event.before));
  const char* mark = event.after_source == CountSource::derived ? "" : event.after ? "=" : "";
  return fmt::format("{} -> {}{}", shown_count(event.before), shown_count(event.after), mark);
}

std::string outstanding_line(const History& history, ObjectId id) {
  const Object& object = history.object(id);
  const std::int64_t before = history.before_seen(id);
  if (object.state != ObjectState::live || !object.base_known) return {};
  if (object.ledger <= 0) return "no reference is outstanding\n";
  std::string text =
      fmt::format("{} outstanding", plural(static_cast<std::size_t>(object.ledger), "reference"));
  if (before > 0) text += fmt::format(", {} of them from before it was first seen", before);
  return text + "\n";
}

}  // namespace

std::string state_text(const Object& object) {
  switch (object.state) {
    case ObjectState::live:
      return object.base_known ? fmt::format("live, count {}", object.ledger) : "live, count unknown";
    case ObjectState::dead:
      // True before, while and after that put runs: the program may stand at its first instruction.
      if (!object.freed && object.died.valid())
        return fmt::format("no reference is left after #{}, its last put", object.died.value);
      return object.freed ? "dead, its memory was freed" : "dead";
    case ObjectState::unknown:
      return "end not seen";
  }
  return {};
}

namespace {

std::string who(const Thread& thread) {
  return thread.name.empty() ? fmt::format("{}", thread.tid)
                             : fmt::format("{} \"{}\"", thread.tid, thread.name);
}

/// Columns that hold whatever events of the session are listed.
struct Columns {
  explicit Columns(const History& history) {
    number = std::max(number, fmt::formatted_size("{}", history.event_count()));
    for (const Thread& thread : history.threads()) {
      const std::size_t quotes = thread.name.empty() ? 0 : 3;
      thread_name =
          std::max(thread_name, fmt::formatted_size("{}", thread.tid) + thread.name.size() + quotes);
    }
  }
  std::size_t number = 5;
  std::size_t thread_name = 18;
};

}  // namespace

std::string call_text(SessionState& state, const Event& event) {
  const Site* site = event.site.valid() ? &state.sites.get(event.site) : nullptr;
  std::string function = site != nullptr ? site->function : std::string();
  if (site != nullptr && site->in_place())
    function.replace(function.size() - 2, 2, direction(event.role) > 0 ? "++" : "--");
  const bool own = event.role != Role::alloc && event.role != Role::free;
  if (const std::string operation = own ? state.namer.operation(event) : std::string(); !operation.empty())
    function = operation;
  if (!event.site.valid()) function = event.role == Role::use ? "used" : "changed without a probe";
  std::string text = short_name(function);
  if (event.stack.valid()) {
    text += fmt::format(" <- {}", FrameNamer::text(state.namer.owner(event)));
    const std::string lost = state.namer.lost_owner(event);
    if (!lost.empty()) text += fmt::format(" through {}", lost);
  }
  return text;
}

namespace {

std::string event_line(SessionState& state, EventId id, const Columns& width) {
  const Event& event = state.history.event(id);
  const double seconds = static_cast<double>(event.time_ns) / 1e9;
  const std::string begin = fmt::format("#{:<{}} {:9.6f}s  {:<{}}", id.value, width.number, seconds,
                                        who(state.history.thread(event.thread)), width.thread_name);
  if (event.unobserved) {
    const char* why = state.history.lost_before(id) ? "the count changed: events were lost"
                                                    : "the count changed without a probe";
    return fmt::format("{} {:<8} {:<9} {}", begin, "unseen", count_text(event), why);
  }
  std::string line = fmt::format("{} {:<8} {:<9} {}", begin, role_name(event.role), count_text(event),
                                 call_text(state, event));
  if (event.during_death) line += " (inside its last put)";
  return line;
}

}  // namespace

std::string kept_text(const SessionState& state, EventPairs& pairs, EventId id) {
  const Event& event = state.history.event(id);
  const SlotNames::Name& place = pairs.kept_in(event);
  if (place.text.empty()) return {};
  if (gives_back(event)) return ", from " + place.text;
  return ", kept in " + place.text + (place.on_some_paths ? " on some paths" : "");
}

std::string event_line(SessionState& state, EventId id) {
  return event_line(state, id, Columns(state.history));
}

std::string stack_lines(SessionState& state, EventId id, Stacks how, const std::string& indent) {
  const Event& event = state.history.event(id);
  if (!event.stack.valid() || how == Stacks::none) return {};
  const std::size_t folded = how == Stacks::full ? 0 : state.namer.folded(event);
  // What the user's function called is of interest: the frames inside of that are not.
  const std::size_t hidden = folded < 3 ? 0 : folded - 1;
  std::string text;
  if (hidden != 0)
    text += fmt::format("{}... {} folded (--stacks full)\n", indent, plural(hidden, "inner frame"));
  std::size_t number = 0;
  for (const NamedFrame& frame : state.namer.stack(event.stack)) {
    if (number++ < hidden) continue;
    text += fmt::format("{}{:<3} {}{}\n", indent, fmt::format("{}", number - 1),
                        FrameNamer::text(frame, how == Stacks::full), frame.inlined ? " [inlined]" : "");
    if (frame.lost) text += fmt::format("{}    ... {}\n", indent, frame.lost->text());
  }
  if (state.history.stacks().truncated(event.stack))
    text += indent + "... the stack could not be walked further\n";
  return text;
}

std::vector<std::pair<EventId, std::size_t>> apart(const SessionState& state,
                                                   const std::vector<EventId>& events) {
  std::map<std::pair<SiteId, StackId>, std::pair<EventId, std::size_t>> places;
  EventLog::Reader reader(state.history.log());
  for (auto id = events.rbegin(); id != events.rend(); ++id) {
    const Event& event = reader.at(*id).event;
    auto& [first, count] = places[{event.site, event.stack}];
    first = *id;
    ++count;
  }
  std::vector<std::pair<EventId, std::size_t>> different;
  for (const auto& [place, of] : places) different.push_back(of);
  std::sort(different.begin(), different.end());
  return different;
}

std::string reference_lines(SessionState& state, const std::vector<EventId>& events, Stacks how,
                            const std::string& indent) {
  std::string text;
  const Columns width(state.history);
  for (const auto& [id, count] : apart(state, events)) {
    text += indent + event_line(state, id, width);
    if (count > 1) text += fmt::format(", and {} more from the same place", count - 1);
    text += "\n" + stack_lines(state, id, how, indent + "       ");
  }
  return text;
}

/// The events, and between those of the beginning and those of the end what is counted only.
static std::string event_lines(SessionState& state, EventPairs& pairs, ObjectId id,
                               const History::SomeEvents& events, Stacks stacks) {
  std::string others = events.others.count() == 0
                           ? std::string()
                           : counted_event_lines(state, id, events.others, "not listed (--events all)", "  ");
  const History::FoldedEvents* folded = state.history.folded_events(id);
  const bool folded_life = folded != nullptr;
  const std::size_t all = events.listed.size() + events.others.count();
  const std::size_t digits = std::max<std::size_t>(2, fmt::formatted_size("{}", all));
  std::string text;
  const Columns width(state.history);
  for (std::size_t i = 0; i < events.listed.size(); ++i) {
    const EventId event = events.listed[i];
    const bool behind = event > events.others.first;
    if (behind) text += std::exchange(others, {});
    if (folded != nullptr && event > folded->last) {
      text += folded_event_lines(state, id, "  ");
      folded = nullptr;
    }
    // Behind folded events nobody knows which one it is.
    const std::size_t number = (behind ? all - events.listed.size() : 0) + i + 1;
    const std::string ordinal = folded_life ? std::string() : fmt::format("{}", number);
    text += fmt::format("{:>{}}  {}{}\n", ordinal, digits + 1, event_line(state, event, width),
                        kept_text(state, pairs, event));
    text += stack_lines(state, event, stacks, std::string(digits + 10, ' '));
  }
  text += others;
  if (folded != nullptr) text += folded_event_lines(state, id, "  ");
  return text;
}

/// The object at an earlier moment: what is known of it since then is not told.
static std::string past_report(SessionState& state, EventPairs& pairs, ObjectId id,
                               const HistoryReportOptions& options) {
  const Object& object = state.history.object(id);
  const Lifetime life = lifetime_of(object);
  const std::uint32_t last = options.moment.value - 1;
  std::string text = fmt::format("{} as of #{}: ", object_title(state, id), last);
  if (life.first >= options.moment)
    return text + fmt::format("not seen yet; its first event is #{}\n", life.first.value);
  const Count count = count_at(state.history, id, options.moment);
  const std::string known = count ? fmt::format("count {}", *count) : "count unknown";
  text += life.covers(options.moment) ? "live, " + known : "already dead";
  const History::SomeEvents so_far = state.history.some_events_of(id, options.most, options.moment);
  text += fmt::format("; {} of {} so far\n", so_far.listed.size() + so_far.others.count(),
                      plural(object.events, "event"));
  return text + event_lines(state, pairs, id, so_far, options.stacks);
}

std::string history_report(SessionState& state, EventPairs& pairs, ObjectId id,
                           const std::vector<ReportedFinding>& findings,
                           const HistoryReportOptions& options) {
  if (options.moment.valid()) return past_report(state, pairs, id, options);
  const Object& object = state.history.object(id);
  std::string text = fmt::format("{}: {}", object_title(state, id), state_text(object));
  if (object.size != 0) text += fmt::format(", {} bytes", object.size);
  if (!object.complete) text += "; incomplete";
  if (!object.complete && state.history.note(id).empty()) text += ": it existed before it was first seen";
  text += "\n";
  text += event_lines(state, pairs, id, state.history.some_events_of(id, options.most), options.stacks);
  if (!state.history.note(id).empty()) text += fmt::format("note: {}\n", state.history.note(id));
  text += outstanding_line(state.history, id);
  for (const ReportedFinding& finding : findings) {
    const bool about = std::find(finding.alike.begin(), finding.alike.end(), id) != finding.alike.end();
    if (!about) continue;
    const auto reached = state.scan.objects.find(id);
    const bool held = finding.verdict == Verdict::leak && reached != state.scan.objects.end() &&
                      reached->second.reach == Reach::reachable;
    if (held) {
      text += fmt::format("not a leak: {} points at it\n", reached->second.where);
      continue;
    }
    const bool maybe = finding.verdict == Verdict::leak && reached == state.scan.objects.end() && state.alive;
    if (maybe) continue;  // outstanding while the program runs is normal
    text += fmt::format("verdict: {}{}{}\n", verdict_name(finding.verdict), finding.why.empty() ? "" : ": ",
                        finding.why);
    for (const Suspect& suspect : finding.suspects)
      text += fmt::format("  suspect ({}): {}\n", suspect.confidence, suspect.text());
  }
  return text;
}

}  // namespace refhist
