// The objects of one run in the history of another, in which they lie elsewhere.
#pragma once

#include <vector>

#include "session/session_state.h"

namespace refhist {

/// Why an object stays unexplained that has no twin.
constexpr const char* kNoTwin = "another run had no such object: the program is not deterministic";

/// For each object the one that was born as the same one of its family and ended alike,
/// else another one with the same history. Each stands for one object alone; invalid when there is none.
std::vector<ObjectId> twins_of(const SessionState& first, const std::vector<ObjectId>& objects,
                               const SessionState& again);

}  // namespace refhist
