#include "agent_host/rule_table.h"

#include <algorithm>
#include <vector>

namespace refhist {

void RuleTable::name_families(std::span<const FamilyId> families) const {
  std::vector<std::uint16_t> named;
  for (const FamilyId family :
       families.first(std::min<std::size_t>(families.size(), agent::kWatchedFamilies)))
    named.push_back(static_cast<std::uint16_t>(family.index()));
  area_.set_families(named, static_cast<std::uint32_t>(families.size()));
}

void RuleTable::arrived(long tid) const {
  const long number = numbers_.inside(tid);
  for (unsigned i = 0; i < area_.thread_slots(); ++i) {
    const SharedSlot slot = area_.slot(i);
    if (!slot.taken().is(0) && slot.tid().claimed() == number) slot.sent().store(0);
  }
}

void RuleTable::correct(const Object& object) const {
  const auto entry =
      area_.find_object(agent::object_key(static_cast<std::uint16_t>(object.family.index()), object.address));
  if (!entry || any_unfinished()) return;
  if (object.state == ObjectState::unknown) {
    entry->state.store(agent::ObjectState::unknown);
    return;
  }
  entry->count.store(static_cast<std::int32_t>(object.ledger));
  entry->based.store(object.base_known ? 1 : 0);
  entry->state.store(object.state == ObjectState::live ? agent::ObjectState::live
                     : object.freed                    ? agent::ObjectState::freed
                                                       : agent::ObjectState::dead);
}

// A thread inside the agent has told the table of an event, and the history not yet.
bool RuleTable::any_unfinished() const {
  for (unsigned i = 0; i < area_.thread_slots(); ++i) {
    const SharedSlot slot = area_.slot(i);
    if (!slot.taken().is(0) && !slot.reserved().is(slot.finished().claimed())) return true;
  }
  return false;
}

void RuleTable::release(long tid) const {
  const long number = numbers_.inside(tid);
  for (unsigned i = 0; i < area_.thread_slots(); ++i) {
    if (area_.slot(i).tid().claimed() == number) area_.release_held(i);
  }
}

std::uint64_t RuleTable::undecided() { return undecided_.look(area_.undecided(), area_.damage()); }

std::uint64_t RuleTable::unwatched() { return unwatched_.look(area_.objects_full(), area_.damage()); }

}  // namespace refhist
