// Names of members by where they lie, where debug information tells.
#pragma once

#include <string>

#include "session/session_state.h"

namespace refhist {

/// What lies there, as far as its type is known.
struct TypedObject {
  Address begin = 0;
  std::string type;
  /// "Parent" of "app::model::Parent".
  [[nodiscard]] std::string short_type() const;
};

/// The object whose member the word at `at` is: what a smart pointer's control block manages, or the tracked
/// object itself. `begin`: of the memory that it lies in; `id` may be invalid.
TypedObject typed_object(SessionState& state, ObjectId id, Address begin, Address at);

/// "kids" or "peer.conn"; not what only the standard library's own members say. Empty when not known.
std::string member_at(const SessionState& state, const TypedObject& object, Address at);

}  // namespace refhist
