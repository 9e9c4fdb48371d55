// The life of one object as people read it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "reports/findings.h"
#include "session/session_state.h"

namespace refhist {

/// What stands under each event: `folded` leaves out the innermost frames that the family folds.
enum class Stacks : std::uint8_t { none, folded, full };

/// How many events of one object a report lists: those between its first and its last ones are counted by
/// place.
inline constexpr std::size_t kListedEvents = 10'000;

struct HistoryReportOptions {
  Stacks stacks = Stacks::none;
  EventId moment;  ///< as it stood when all events before this one had happened; invalid: as it is
  std::size_t most = kListedEvents;
};

/// `findings`: all of the session, reachable objects included; the object's own are told. `pairs`: of
/// the session; what it has read of code and stacks for one object serves the others.
std::string history_report(SessionState& state, EventPairs& pairs, ObjectId id,
                           const std::vector<ReportedFinding>& findings, const HistoryReportOptions& options);

/// "json_object_get <- conn_open (client.c:40)".
std::string call_text(SessionState& state, const Event& event);
/// ", kept in conn->reply" or ", from conn->reply": where the code has the pointer by which the reference is
/// taken or given back; empty when that is not known.
std::string kept_text(const SessionState& state, EventPairs& pairs, EventId id);
/// "#12  0.003s  thread 1 "main"  get  1 -> 2  json_object_get  conn_open (client.c:40)".
std::string event_line(SessionState& state, EventId id);
/// The events without those at the same place with the same stack as one before; how many there are of each.
std::vector<std::pair<EventId, std::size_t>> apart(const SessionState& state,
                                                   const std::vector<EventId>& events);
/// A line for each of those that `apart` tells, under `indent`, with its stack.
std::string reference_lines(SessionState& state, const std::vector<EventId>& events, Stacks how,
                            const std::string& indent);
std::string stack_lines(SessionState& state, EventId id, Stacks how, const std::string& indent);
/// "live, count 2", "dead", "its end was not seen".
std::string state_text(const Object& object);

}  // namespace refhist
