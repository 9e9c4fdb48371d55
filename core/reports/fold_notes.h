// What is said of objects and events that were folded.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "session/session_state.h"

namespace refhist {

/// What the user calls the values of Keep, in their order.
inline constexpr std::array<const char*, 3> kKeepNames = {"all", "live", "suspect"};

/// For every report: what was folded, and why. Empty when nothing was.
std::vector<std::string> fold_notes(const SessionState& state);

/// Of an object with folded events: how many, and where they were; empty for others.
std::string folded_event_lines(SessionState& state, ObjectId id, const std::string& indent);
/// The same of any of the object's events that are counted only, which is said in the words of `how`.
std::string counted_event_lines(SessionState& state, ObjectId id, const History::FoldedEvents& counted,
                                const std::string& how, const std::string& indent);
nlohmann::ordered_json counted_events_json(SessionState& state, ObjectId id,
                                           const History::FoldedEvents& counted);

/// "keep: live, limit 2.0 GiB"; empty when everything is kept.
std::string keep_text(const SessionState& state);

}  // namespace refhist
