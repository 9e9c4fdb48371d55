// Words of memory that hold the only pointers to an object: watched until each has something else, or the
// block of the heap that it lies in is freed. A word keeps what it has in a block that is freed and handed
// out again, and whoever is handed that then looks like the one that has overwritten it.
#pragma once

#include <string>
#include <vector>

#include "heap/reachability_ranges.h"
#include "port/debugger_port.h"
#include "session/followed_way.h"

namespace refhist {

class HeldWords {
 public:
  struct Word {
    Address at = 0;      ///< a multiple of 8
    AddressRange block;  ///< of the heap; empty: it lies elsewhere
    Address holder = 0;  ///< NewHolder::at
    std::string where;   ///< NewHolder::where
    Address guard = 0;   ///< the block's first word, which the allocator overwrites as it is freed; 0: none
  };

  /// Empty when it is watched from now on, else why it is not.
  std::string watch(DebuggerPort& port, const ProcessInfo& process, const NewHolder& holder);
  /// That one is watched, for itself or as a guard.
  [[nodiscard]] bool watches(Address word) const { return find(word) != nullptr; }
  /// The one that the word stands for.
  [[nodiscard]] const Word* find(Address word) const;
  void remove(DebuggerPort& port, Address at);
  /// All that lie in it.
  void remove_in(DebuggerPort& port, AddressRange block);
  void clear(DebuggerPort& port);
  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] std::size_t size() const { return words_.size(); }

 private:
  template <class Is>
  void remove_if(DebuggerPort& port, Is&& is);

  std::vector<Word> words_;
};

}  // namespace refhist
