// The agent's view of the objects that stop rules look at.
#pragma once

#include "agent/agent_abi.h"
#include "agent/object_entry.h"

namespace refhist::agent {

class WatchedObjects {
 public:
  explicit WatchedObjects(Shared* shared);

  /// Null when it is not there, and with `make` when there is no room for it.
  ObjectEntry* find(uint64_t key, bool make);
  /// The entry's word as one value; a torn one is found out by `replace`.
  static ObjectWord load(const ObjectEntry& entry);
  /// False when somebody else was faster.
  static bool replace(ObjectEntry& entry, const ObjectWord& old, const ObjectWord& now);

  void mark(uint64_t address);
  /// Calls `visit(entry)` for each object that begins in the memory, and marks the memory as empty.
  template <class Visit>
  void for_each_in(uint64_t begin, uint64_t end, Visit&& visit) {
    for (uint64_t at = begin & ~(kGranuleBytes - 1); at < end; at = next_marked(at + kGranuleBytes, end)) {
      if (!take_mark(at)) continue;
      for (uint64_t address = at; address < at + kGranuleBytes; address += 8) visit_at(address, visit);
    }
  }

 private:
  bool take_mark(uint64_t address);
  [[nodiscard]] uint64_t next_marked(uint64_t at, uint64_t end) const;
  template <class Visit>
  void visit_at(uint64_t address, Visit& visit) {
    const uint32_t watched = shared_->watched < kWatchedFamilies ? shared_->watched : kWatchedFamilies;
    for (uint32_t i = 0; i < watched; ++i) {
      ObjectEntry* entry = find(object_key(shared_->families[i], address), false);
      if (entry != nullptr) visit(*entry);
    }
  }

  Shared* shared_;
  ObjectEntry* entries_;
  uint64_t* granules_;
};

}  // namespace refhist::agent
