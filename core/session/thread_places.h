// Where the threads of the stopped program stand, and where the signal handlers that they run will go back
// to: a patch must not come or go under them.
#pragma once

#include <vector>

#include "events/program_access.h"
#include "session/session_state.h"

namespace refhist {

class ThreadPlaces {
 public:
  static constexpr Address kLongestInstruction = 16;  // 15 bytes on x86-64

  struct Place {
    long tid;
    Address pc;
    Address sp;  ///< ~0: a signal handler runs above it
    [[nodiscard]] bool interrupted() const { return sp == ~Address{0}; }
  };

  static ThreadPlaces look(SessionState& state, DebuggerPort& port);
  /// Where the handlers of one thread will go back to.
  static std::vector<Address> interrupted(SessionState& state, const ProgramAccess& access,
                                          const Registers& registers);
  /// Is that in code of the site's that a patch may cover?
  static bool is_inside(const Site& site, Address pc);

  /// False: some thread ran, and nothing is known of it.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] const std::vector<Place>& all() const { return places_; }
  [[nodiscard]] bool any_in(const Site& site) const;

 private:
  bool known_ = true;
  std::vector<Place> places_;
};

}  // namespace refhist
