// Blocks that the program has given back stay where they are for a while, and cannot be touched: whoever
// still uses one stops at that instruction.
//
// Only blocks that the C library has mapped for themselves, which are whole pages: the first call of malloc
// has it map each block. What free is given in place of a withheld block is the one that has been withheld
// longest, so that the library's own numbers stay right; none at first. Nothing depends on us: without the
// agent, free unmaps such a block by itself.
#pragma once

#include "agent/agent_abi.h"
#include "agent/counter_place.h"
#include "agent/malloc_block.h"
#include "agent/readable_memory.h"
#include "agent/system_call.h"

namespace refhist::agent {

inline bool protect(uint64_t begin, uint64_t size, int rights) {
  constexpr int64_t kMprotect = 10;
  return system_call(kMprotect, begin, size, static_cast<uint64_t>(rights)) == 0;
}

/// Counts the pages in quarantine up, or with -1 down.
inline void count_pages(Shared& shared, uint64_t begin, uint64_t size, int by) {
  for (uint64_t page = begin; page < begin + size; page += kPage)
    __atomic_fetch_add(withheld_page(shared, page), static_cast<uint8_t>(by), __ATOMIC_RELAXED);
}

/// Bytes of a block that the C library has mapped for itself, with its header; 0 when it is another one.
inline uint64_t own_mapping(Shared& shared, uint64_t block) {
  constexpr uint64_t kMost = 1U << 16U;  // an object is no larger, and memory is not endless
  if (block % kPage != kBlockHeader || !can_read_block(shared, block)) return 0;
  const uint64_t before = *reinterpret_cast<const uint64_t*>(block - kBlockHeader);
  const uint64_t size = mapped_size(block);
  return before == 0 && size % kPage == 0 && size <= kMost ? size : 0;
}

/// Calls mallopt or its like, where nothing of the program's is in a register that a call may change.
inline void set_option(uint64_t function, int option, int value) {
  uint64_t number = static_cast<uint32_t>(option);
  uint64_t wanted = static_cast<uint32_t>(value);
  // The stack may hold something below its pointer, and is not aligned as a call needs it.
  __asm__ volatile(
      "mov %%rsp, %%rbx\n\t"
      "lea -128(%%rsp), %%rsp\n\t"
      "and $-16, %%rsp\n\t"
      "call *%%rax\n\t"
      "mov %%rbx, %%rsp"
      : "+a"(function), "+D"(number), "+S"(wanted)
      :
      : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
}

constexpr int kMostMapped = -4;  // of mallopt

/// True once.
inline bool is_first(uint32_t& done) {
  return __atomic_load_n(&done, __ATOMIC_RELAXED) == 0 &&
         __atomic_exchange_n(&done, 1U, __ATOMIC_ACQ_REL) == 0;
}

/// The program is about to ask for a block.
inline void map_blocks(const Config& config, Shared& shared) {
  constexpr int kThreshold = -3;
  constexpr int kMostArenas = -8;
  constexpr int kMost = 65530;  // mappings, as the kernel allows a process by default
  if (config.mallopt == 0 || !is_first(shared.maps_blocks)) return;
  set_option(config.mallopt, kThreshold, 1);
  set_option(config.mallopt, kMostMapped, kMost);
  set_option(config.mallopt, kMostArenas, 1);  // others begin with a heap
}

/// The same of GLib's allocator, which then has none of its own: it may be asked before its first slice only.
inline void use_no_slices(const Config& config, Shared& shared) {
  constexpr int kAlwaysMalloc = 1;
  if (config.slice_config != 0 && is_first(shared.sets_slices))
    set_option(config.slice_config, kAlwaysMalloc, 1);
}

/// Free is about to be given the block.
inline void release(Shared& shared, uint64_t block) {
  constexpr int kReadWrite = 3;
  const uint64_t begin = block - kBlockHeader;
  if (protect(begin, kPage, kReadWrite)) count_pages(shared, begin, mapped_size(block), -1);
}

/// Of the calling thread's CPU time: others that run meanwhile cost it nothing.
inline uint64_t nanoseconds_used() {
  constexpr int64_t kClockGettime = 228;
  constexpr uint64_t kThreadTime = 3;
  int64_t time[2] = {0, 0};
  system_call(kClockGettime, kThreadTime, reinterpret_cast<uint64_t>(time));
  return static_cast<uint64_t>(time[0]) * 1000000000U + static_cast<uint64_t>(time[1]);
}

/// Takes all rights to a block, the `number`th. How long the kernel needs differs between machines by a
/// factor of fifty: it is measured of some.
inline bool take_rights(Shared& shared, uint64_t number, uint64_t begin, uint64_t size) {
  constexpr int kNone = 0;
  constexpr uint64_t kMeasured = 16;  // one of so many
  if (number % kMeasured != kMeasured - 1) return protect(begin, size, kNone);
  const uint64_t before = nanoseconds_used();
  const bool taken = protect(begin, size, kNone);
  __atomic_fetch_add(&shared.withheld_time, kMeasured * (nanoseconds_used() - before), __ATOMIC_RELAXED);
  return taken;
}

/// Then the heap is faster.
inline bool had_enough(const Config& config, Shared& shared) {
  const uint64_t most = config.withheld_most;
  if (most == 0) return false;
  if (__atomic_load_n(&shared.withheld_enough, __ATOMIC_RELAXED) != 0) return true;
  if (__atomic_load_n(&shared.withheld_next, __ATOMIC_RELAXED) < most &&
      __atomic_load_n(&shared.withheld_time, __ATOMIC_RELAXED) < config.withheld_time)
    return false;
  if (is_first(shared.withheld_enough) && config.mallopt != 0) set_option(config.mallopt, kMostMapped, 0);
  return true;
}

/// `block` is what free is about to be given: returns what it is given instead.
inline uint64_t withhold(const Config& config, Shared& shared, uint32_t blocks, uint64_t block) {
  if (had_enough(config, shared)) return block;
  const uint64_t size = own_mapping(shared, block);
  if (size == 0) return block;
  const uint64_t next = __atomic_fetch_add(&shared.withheld_next, 1, __ATOMIC_RELAXED);
  const uint64_t begin = block - kBlockHeader;
  count_pages(shared, begin, size, 1);
  if (!take_rights(shared, next, begin, size)) {
    count_pages(shared, begin, size, -1);
    return block;
  }
  auto* ring = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(&shared) + shared.withheld);
  const uint64_t oldest = __atomic_exchange_n(&ring[next % blocks], block, __ATOMIC_ACQ_REL);
  if (oldest != 0) release(shared, oldest);
  return oldest;
}

/// A function with a part in it (Site::heap) is about to run.
inline void quarantine(const Config& config, Shared& shared, const Site& site, Saved& saved) {
  const uint32_t blocks = __atomic_load_n(&shared.withheld_blocks, __ATOMIC_RELAXED);
  if (blocks == 0 || blocks > kMostWithheld || is_confined(shared)) return;
  if (site.heap == kGivesBlock) {
    map_blocks(config, shared);
  } else if (site.heap == kGivesSlice) {
    use_no_slices(config, shared);
  } else {
    saved.rdi = withhold(config, shared, blocks, saved.rdi);
  }
}

}  // namespace refhist::agent
