// An object's references, each from where it was taken to where it was given back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "session/session_state.h"

namespace refhist {

/// `pairs`: of the session; what it has learned of one object serves the others.
std::string reference_report(SessionState& state, EventPairs& pairs, ObjectId id);
/// The same; null where the events are too many to be paired, or only counted.
nlohmann::ordered_json references_of_json(const SessionState& state, EventPairs& pairs, ObjectId id);

}  // namespace refhist
