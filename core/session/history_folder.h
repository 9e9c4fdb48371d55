// Keeps the history within its bounds: objects that died clean become totals of their birthplaces, and early
// events of objects that live are counted and no longer listed.
#pragma once

#include <cstdint>

#include "session/session_state.h"

namespace refhist {

class HistoryFolder {
 public:
  explicit HistoryFolder(SessionState& state) : state_(state) {}

  /// Folds what is to be folded by now: called often, and at once done where nothing is.
  void fold_when_due();
  /// Where the options have changed, what they ask for is done now.
  void apply_options();

 private:
  void fold_now();
  /// Of the objects, which are folded how.
  struct Choice {
    bool clean = false;      ///< those that died clean, where another has taken their place since
    bool last_ones = false;  ///< and where none has
    EventId died_before;     ///< the ones that died before this event only; invalid: all
    bool early = false;      ///< of all others that nothing is wrong with, the events before `recent`
    EventId recent;
  };
  /// False when there is nothing of the kind.
  bool fold(const Choice& choice);
  std::size_t mark(const Choice& choice);
  void keep_to_limit();
  bool fold_oldest(bool last_ones);
  void note_moments();
  void forget_gone();

  SessionState& state_;
  std::size_t look_again_ = 0;  // at so many events
  std::size_t fold_at_ = 0;     // kept events
  Keep keep_ = Keep::all;       // what was asked for when there was a look last
  std::uint64_t memory_limit_ = 0;
};

}  // namespace refhist
