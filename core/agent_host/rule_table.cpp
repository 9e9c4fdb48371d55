#include "agent_host/rule_table.h"

#include <algorithm>

namespace refhist {

void RuleTable::name_families(std::span<const FamilyId> families) const {
  agent::Shared& shared = area_.shared();
  const std::size_t named = std::min<std::size_t>(families.size(), agent::kWatchedFamilies);
  for (std::size_t i = 0; i < named; ++i)
    shared.families[i] = static_cast<std::uint16_t>(families[i].index());
  shared.watched = static_cast<std::uint32_t>(families.size());
}

void RuleTable::arrived(long tid) const {
  for (unsigned i = 0; i < area_.thread_slots(); ++i) {
    agent::ThreadSlot& slot = area_.slot(i);
    if (slot.taken != 0 && slot.tid == tid) slot.sent.site = 0;
  }
}

void RuleTable::correct(const Object& object) const {
  agent::ObjectEntry* entry =
      area_.find_object(agent::object_key(static_cast<std::uint16_t>(object.family.index()), object.address));
  if (entry == nullptr || any_unfinished()) return;
  agent::ObjectWord& word = entry->word;
  if (object.state == ObjectState::unknown) {
    word.state = agent::ObjectState::unknown;
    return;
  }
  word.count = static_cast<std::int32_t>(object.ledger);
  word.based = object.base_known ? 1 : 0;
  word.state = object.state == ObjectState::live ? agent::ObjectState::live
               : object.freed                    ? agent::ObjectState::freed
                                                 : agent::ObjectState::dead;
}

// A thread inside the agent has told the table of an event, and the history not yet.
bool RuleTable::any_unfinished() const {
  for (unsigned i = 0; i < area_.thread_slots(); ++i) {
    const agent::ThreadSlot& slot = area_.slot(i);
    if (slot.taken != 0 && slot.reserved != slot.finished) return true;
  }
  return false;
}

void RuleTable::release(long tid) const {
  for (unsigned i = 0; i < area_.thread_slots(); ++i) {
    agent::ThreadSlot& slot = area_.slot(i);
    if (slot.held == 0 || slot.tid != tid) continue;
    auto* entry = reinterpret_cast<agent::ObjectEntry*>(reinterpret_cast<char*>(&area_.shared()) + slot.held);
    if (entry->holder == i + 1) entry->holder = 0;
    slot.held = 0;
  }
}

std::uint64_t RuleTable::undecided() const { return area_.shared().undecided; }

std::uint64_t RuleTable::unwatched() const { return area_.shared().objects_full; }

}  // namespace refhist
