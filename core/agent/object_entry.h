// What the agent keeps about an object that stop rules look at. The debugger reads and corrects it while the
// program stands still.
#pragma once

#include <stdint.h>

namespace refhist::agent {

constexpr uint32_t kObjectProbes = 512;    ///< entries that are looked at for one key
constexpr uint64_t kGranules = 1U << 27U;  ///< bits, each for 16 bytes; addresses 2 GiB apart share one
constexpr uint64_t kGranuleBytes = 16;

enum class ObjectState : uint8_t { unknown, live, dead, freed };

/// Changed as a whole, so that the stamps of the events on one object are in the order of their effects.
struct alignas(16) ObjectWord {
  int32_t count;    ///< references by the events
  uint16_t inside;  ///< calls that have begun and not returned: done but not counted, or the other way round
  ObjectState state;
  uint8_t based;   ///< `count` is not only a difference
  uint64_t stamp;  ///< time of the last event
};
static_assert(sizeof(ObjectWord) == 16);

struct ObjectEntry {
  ObjectWord word;
  uint64_t key;  ///< object_key; 0: free. Never taken out: addresses come back.
  // The last event, to tell a probe that is called by another probe. Only its own thread asks.
  uint64_t last_site;  ///< address of the Site
  uint64_t last_sp;
  uint64_t last_return;
  uint64_t dying_sp;      ///< stack pointer of the last put
  uint32_t dying_thread;  ///< its slot, counted from 1
  uint32_t last_thread;
  uint32_t holder;  ///< the slot, from 1, of the thread whose put is about to be the last: others wait
};

inline uint64_t object_key(uint16_t family, uint64_t address) {
  return (uint64_t{family} + 1) << 48U ^ address;
}

/// Objects that lie near each other have entries near each other. To be masked by Shared::object_mask.
inline uint32_t first_object_slot(uint64_t key) {
  const uint64_t high = (key >> 24U) * 0x9e3779b97f4a7c15U;
  return static_cast<uint32_t>((key >> 3U) + (high >> 40U));
}

inline uint64_t granule_of(uint64_t address) { return (address / kGranuleBytes) % kGranules; }

}  // namespace refhist::agent
