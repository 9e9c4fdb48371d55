// Two control blocks that own the same object at one time: the object will be deleted twice.
//
// What a control block owns is known when its own memory is freed, where the pointer still stands in it, and
// of a live one when somebody looks.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "history/history.h"
#include "sites/tracked_family.h"

namespace refhist {

class SecondOwners {
 public:
  /// Is it of a kind that deletes what it points at, and does nothing else with it? Asked where two meet.
  using Deletes = std::function<bool(ObjectId block)>;

  SecondOwners(History& history, const std::vector<TrackedFamily>& families)
      : history_(history), families_(families) {}

  void set_deletes(Deletes deletes) { deletes_ = std::move(deletes); }
  /// The control block points at that object. Adds a finding where another one owned it meanwhile.
  void note(ObjectId block, Address owned);
  /// Of addresses that blocks were noted with, the last one up to this; 0 when there is none.
  [[nodiscard]] Address owned_at(Address inside) const;
  /// What own or owned the object, as they were noted.
  [[nodiscard]] std::vector<ObjectId> owners_of(Address owned) const;
  /// The memory of the object was given back: adds a finding where a block that has ended was the second one
  /// to own it, while the first one still does. Null when there is none.
  const Finding* note_deleted(Address owned);
  void forget();

 private:
  /// The first one that owned the object while the block did.
  [[nodiscard]] ObjectId beside(ObjectId block, Address owned);
  /// It has the object in itself.
  [[nodiscard]] ObjectId around(ObjectId block, Address owned) const;
  [[nodiscard]] bool at_one_time(ObjectId one, ObjectId other) const;
  void tell(ObjectId one, ObjectId other, Address owned, const char* then);

  History& history_;
  const std::vector<TrackedFamily>& families_;
  Deletes deletes_;
  std::unordered_map<Address, std::vector<ObjectId>> noted_;  // by object
  std::unordered_set<ObjectId> told_;                         // of two, the one that was there first
};

}  // namespace refhist
