#include "agent/watched_objects.h"

namespace refhist::agent {

namespace {
constexpr uint64_t kWordBits = 64;

template <class T>
T* at(Shared* shared, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + offset);
}
}  // namespace

WatchedObjects::WatchedObjects(Shared* shared)
    : shared_(shared),
      entries_(at<ObjectEntry>(shared, shared->objects)),
      granules_(at<uint64_t>(shared, shared->granules)) {}

ObjectEntry* WatchedObjects::find(uint64_t key, bool make) {
  const uint32_t first = first_object_slot(key);
  for (uint32_t i = 0; i < kObjectProbes; ++i) {
    ObjectEntry& entry = entries_[(first + i) & shared_->object_mask];
    uint64_t there = __atomic_load_n(&entry.key, __ATOMIC_RELAXED);
    if (there == 0) {
      if (!make) return nullptr;
      if (__atomic_compare_exchange_n(&entry.key, &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return &entry;
    }
    if (there == key) return &entry;
  }
  if (make) __atomic_fetch_add(&shared_->objects_full, 1U, __ATOMIC_RELAXED);
  return nullptr;
}

ObjectWord WatchedObjects::load(const ObjectEntry& entry) {
  union {
    uint64_t halves[2];
    ObjectWord word;
  } value;
  const auto* halves = reinterpret_cast<const uint64_t*>(&entry.word);
  value.halves[0] = __atomic_load_n(halves, __ATOMIC_RELAXED);
  value.halves[1] = __atomic_load_n(halves + 1, __ATOMIC_RELAXED);
  return value.word;
}

bool WatchedObjects::replace(ObjectEntry& entry, const ObjectWord& old, const ObjectWord& now) {
  union Halves {
    ObjectWord word;
    uint64_t halves[2];
  };
  Halves expected{old};
  const Halves wanted{now};
  bool done = false;
  __asm__ volatile("lock cmpxchg16b %1"
                   : "=@ccz"(done), "+m"(entry.word), "+a"(expected.halves[0]), "+d"(expected.halves[1])
                   : "b"(wanted.halves[0]), "c"(wanted.halves[1])
                   : "memory");
  return done;
}

void WatchedObjects::mark(uint64_t address) {
  const uint64_t granule = granule_of(address);
  uint64_t& word = granules_[granule / kWordBits];
  const uint64_t bit = uint64_t{1} << (granule % kWordBits);
  if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & bit) == 0) __atomic_fetch_or(&word, bit, __ATOMIC_RELAXED);
}

bool WatchedObjects::take_mark(uint64_t address) {
  const uint64_t granule = granule_of(address);
  uint64_t& word = granules_[granule / kWordBits];
  const uint64_t bit = uint64_t{1} << (granule % kWordBits);
  if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & bit) == 0) return false;
  return (__atomic_fetch_and(&word, ~bit, __ATOMIC_RELAXED) & bit) != 0;
}

uint64_t WatchedObjects::next_marked(uint64_t at, uint64_t end) const {
  while (at < end) {
    const uint64_t granule = granule_of(at);
    const uint64_t rest =
        __atomic_load_n(&granules_[granule / kWordBits], __ATOMIC_RELAXED) >> (granule % kWordBits);
    if (rest != 0) return at + static_cast<uint64_t>(__builtin_ctzll(rest)) * kGranuleBytes;
    at += (kWordBits - granule % kWordBits) * kGranuleBytes;
  }
  return end;
}

}  // namespace refhist::agent
