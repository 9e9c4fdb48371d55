// What else is known of the call of a function that took a reference: the calls that it made afterwards, as
// far as events tell of them.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/owners.h"
#include "history/history.h"

namespace refhist {

/// A call that it made, by where this returns to in the file.
struct Passed {
  Address at = 0;
  bool gave_other = false;  ///< it gave back another reference of the family than the one that was lost
};

class ActivationTrail {
 public:
  ActivationTrail(const History& history, FrameNamer& namer, Owners& owners)
      : history_(history), namer_(namer), owners_(owners) {}
  /// Of the call that `frame`, of the stack of the event, is in: in order. Another call of the function from
  /// the same place may follow; that can be told only from its code.
  std::vector<Passed> behind(EventId id, const NamedFrame& frame);
  struct Before {
    int taken = 0;
    int given_back = 0;
  };
  /// How many references to the event's object that call, and what it called, had taken and given back
  /// before. As far back as its calls stand in the order of its code.
  Before before(EventId id, const NamedFrame& frame);
  /// Whether the thread's next event that is not made by the same call of `frame` is that one.
  bool leads_to(EventId id, const NamedFrame& frame, EventId next);

 private:
  struct Here {
    std::vector<StackFrame> outer;  ///< that called the function
    StackFrame frame;
    Address bias = 0;
    Address function = 0;  ///< where it begins, in the file
    const Module* module = nullptr;
  };
  bool stands_in(const Event& event, const NamedFrame& frame);
  [[nodiscard]] std::optional<Here> find(const Event& event, const NamedFrame& frame) const;
  /// Where that function stands on the stack; nothing when it is not in that call.
  [[nodiscard]] std::optional<StackFrame> place(const Here& here, StackId stack) const;
  /// Of the thread, with a stack; nothing for others, and those that were folded.
  std::optional<Event> event_of(EventLog::Reader& reader, EventId id, ThreadIndex thread) const;
  bool gave_other(const Event& event, const Event& taken, const Here& here, const StackFrame& at);

  const History& history_;
  FrameNamer& namer_;
  Owners& owners_;
};

}  // namespace refhist
