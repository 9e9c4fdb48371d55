// Hardware watchpoints on counters: whoever changes one is seen, with or without a probe.
#pragma once

#include <string>
#include <vector>

#include "port/debugger_port.h"
#include "session/session_state.h"

namespace refhist {

class CounterWatches {
 public:
  static constexpr std::size_t kMost = 4;  ///< debug registers of the processor

  explicit CounterWatches(SessionState& state) : state_(state) {}

  struct Watch {
    ObjectId object;
    Address counter = 0;
    std::uint64_t changes = 0;  ///< that no probe has told of
    bool removed = false;       ///< by the user, or by the debugger
  };
  [[nodiscard]] const std::vector<Watch>& all() const { return watches_; }

  /// Throws Error: no counter, not alive, watched already, no watchpoint left.
  void add(DebuggerPort& port, ObjectId object);
  /// False when it is not watched.
  bool remove(DebuggerPort& port, ObjectId object);
  /// A thread has just changed the counter there.
  void changed(DebuggerPort& port, long tid, Address counter);
  /// Takes out those whose object has ended, and notices those that are gone. While the program is stopped.
  void settle(DebuggerPort& port);
  /// The process is gone, and the watchpoints with it.
  void forget() { watches_.clear(); }

 private:
  [[nodiscard]] bool has_ended(const Watch& watch) const;

  SessionState& state_;
  std::vector<Watch> watches_;
};

}  // namespace refhist
