// Turns what can be seen of the target's process into the core's notices.
//
// It looks when a refhist command, an LLDB command that runs or ends the process, or a breakpoint of ours
// gives the occasion. No listener: while LLDB waits for a stop it hijacks the process events, and another
// thread would see them too late to arm anything before the program goes on.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <string>
#include <vector>

#include "facade/session.h"

namespace refhist {

struct Observation {
  Notice notice = Notice::stopped;
  std::int64_t detail = 0;
};

class ProcessObserver {
 public:
  enum class Occasion {
    command,     ///< the user can see where the process stands
    breakpoint,  ///< inside a callback: the program may well go on
    entry        ///< the same, at the executable's entry point
  };

  /// What happened since the last look, in order.
  std::vector<Observation> look(lldb::SBTarget& target, Occasion occasion);
  /// True when this process is the one that was announced last. Costs no round trip.
  [[nodiscard]] bool knows(lldb::SBProcess& process) const;
  /// The process runs another file than at the last look, whether LLDB has noticed or not. False where the
  /// kernel cannot be asked.
  [[nodiscard]] bool replaced(lldb::SBProcess& process) const;
  [[nodiscard]] bool has_process() const { return known_; }
  /// LLDB is about to replace or kill the process.
  void expect_kill() { kill_expected_ = known_; }

 private:
  Observation end_of_unseen();
  Observation end_of(lldb::SBTarget& target, lldb::SBProcess& process);
  Observation stop_of(lldb::SBProcess& process);
  Observation pass_entry();
  lldb::StateType state_of(lldb::SBProcess& process);
  void look_at_stop(lldb::SBTarget& target, lldb::SBProcess& process, Occasion occasion,
                    std::vector<Observation>& seen);

  bool known_ = false;  // `started` was sent, and no end yet
  bool kill_expected_ = false;
  bool entered_ = false;          // the program is past its entry point
  std::uint32_t process_id_ = 0;  // LLDB's own number, unique in its session
  std::uint32_t stop_id_ = 0;     // of the last stop that was looked at
  int last_signal_ = 0;           // that the last stop showed
  std::string executable_;
  std::string
      running_file_;  // as the kernel names it; empty for one of another machine, and once it is let go
};

}  // namespace refhist
