// The rule of a code address: from a small cache of the thread, else from the rows in shared memory.
// Freestanding.
#pragma once

#include "agent/frame_step.h"
#include "agent/walker_shared.h"

namespace refhist::agent {

class RuleFinder {
 public:
  /// nullptr when the module list has changed since `start`: what was found before no longer goes with it.
  /// Valid until the next call.
  const ReadyRule* find(const WalkerShared* shared, uint64_t key) {
    const Cached& cached = cache_[place(key)];
    return cached.key == key ? &cached.rule : find_slowly(shared, key);
  }

  /// The next `start` finds another module list.
  void forget() { version_ = 0; }
  /// The module list is the one of the last capture.
  bool is_current(const WalkerShared* shared) const {
    return __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE) == version_;
  }
  /// Before every walk. True when the module list is the one of the last capture.
  bool start(const WalkerShared* shared) { return is_current(shared) || restart(shared); }

 private:
  struct Cached {
    uint64_t key;
    ReadyRule rule;
  };
  static constexpr unsigned kBits = 9;
  static unsigned place(uint64_t key) {
    return static_cast<unsigned>(key * 0x9e3779b97f4a7c15ULL >> (64 - kBits));
  }
  const ReadyRule* find_slowly(const WalkerShared* shared, uint64_t key);
  bool restart(const WalkerShared* shared);

  uint64_t version_;
  Cached cache_[1 << kBits];
};

}  // namespace refhist::agent
