// What the recorder knows of the memory that objects lie in.
#include <algorithm>

#include "events/recorder.h"

namespace refhist {

// Not by a function of the family's own: that may keep the memory for the next object.
FamilyId Recorder::allocator_of(ObjectId id) const {
  FamilyId allocator;
  for (const auto& [event, times] : history_.kinds_of(id)) {
    if ((event.role != Role::alloc && event.role != Role::free) || !event.site.valid()) continue;
    const FamilyId family = sites_.get(event.site).family;
    if (families_[family.index()].family.allocator) allocator = family;
  }
  return allocator;
}

// It does not begin with its block. Alone in there, it is a member of something larger.
MemoryFate Recorder::fate_within_block(ObjectId id) const {
  const Object& object = history_.object(id);
  const Block* block = allocations_.covering(object.address);
  if (block == nullptr) return MemoryFate::unknown;
  const std::vector<ObjectId> inside = history_.starting_in(block->begin, block->begin + block->size);
  const bool several = std::any_of(inside.begin(), inside.end(), [&](ObjectId other) {
    return history_.object(other).family == object.family && history_.object(other).address != object.address;
  });
  return several ? MemoryFate::pooled : MemoryFate::unknown;
}

void Recorder::note_owned(const ProgramView& access, ObjectId id) {
  const Object& object = history_.object(id);
  const auto& offset = families_[object.family.index()].family.managed_offset;
  Address owned = 0;
  if (offset && access.read_word(object.address + *offset, owned)) second_owners_.note(id, owned);
}

MemoryFate Recorder::memory_fate(FamilyId family, Address address) const {
  const ObjectId last = history_.newest_at(family, address);
  if (!allocator_tracked_ || !last.valid()) return MemoryFate::unknown;
  const FamilyId allocator = allocator_of(last);
  const EventId died = history_.object(last).died;
  if (!died.valid()) return MemoryFate::unknown;
  if (!allocator.valid()) return fate_within_block(last);
  if (allocations_.covered_since(address, history_.event(died).time_ns)) return MemoryFate::handed_out_again;
  return allocations_.covered_by(address, allocator) ? MemoryFate::kept : MemoryFate::gone;
}

// Code that counts by hand has no business in memory that is free: what it changes there was the object's
// count.
bool Recorder::is_known(const Site& site, Address object) const {
  if (is_live(site.family, object)) return true;
  return site.in_place() && memory_fate(site.family, object) == MemoryFate::gone;
}

}  // namespace refhist
