// Blocks that the program has given back stay where they are for a while, and cannot be touched: whoever
// still uses one stops at that instruction.
//
// Only blocks that the C library has mapped for themselves, which are whole pages: the first call of malloc
// has it map each block. Where not all are wanted, blocks of the sizes that objects have are asked for so
// large that it maps those only, and no chunk of the heap can serve them. What free is given in place of a
// withheld block is the one that has been withheld longest, so that the library's own numbers stay right;
// none at first. Nothing depends on us: without the agent, free unmaps such a block by itself.
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

constexpr int kMappedFrom = 64 << 10;  // bytes
constexpr uint64_t kEnlarged = 70000;  // bytes, which hardly anybody else asks for
constexpr uint64_t kEnlargedMapping = 73728;
// All of them together must leave room near the program's libraries: our code has to come within 2 GiB of it.
constexpr int32_t kMostEnlarged = 12000;
// What a program sets up at its start may be more than that, and none of it an object: of sizes that no
// object has been seen in, a few are taken, so that the first objects are among them.
constexpr int32_t kMostUnproven = 6000;
constexpr int32_t kMostOfUnprovenSize = 128;
constexpr uint32_t kMostChosen = 4096;  // in quarantine at one time

/// Counts the pages in quarantine up, or with -1 down.
inline void count_pages(Shared& shared, uint64_t begin, uint64_t size, int by) {
  const uint64_t used = size == kEnlargedMapping ? kLargestChosen + kPage : size;
  for (uint64_t page = begin; page < begin + used; page += kPage)
    __atomic_fetch_add(withheld_page(shared, page), static_cast<uint8_t>(by), __ATOMIC_RELAXED);
}

/// Blocks of sizes that no object has are left alone.
inline bool chooses(const Config& config) { return config.withheld_most != 0; }

/// Bytes of a block that the C library has mapped for itself, with its header; 0 when it is another one.
inline uint64_t own_mapping(const Config& config, Shared& shared, uint64_t block) {
  constexpr uint64_t kMost = 1U << 16U;  // an object is no larger, and memory is not endless
  if (block % kPage != kBlockHeader || !can_read_block(shared, block)) return 0;
  const uint64_t before = *reinterpret_cast<const uint64_t*>(block - kBlockHeader);
  const uint64_t size = mapped_size(block);
  const bool wanted = chooses(config) ? size == kEnlargedMapping : size <= kMost;
  return before == 0 && size % kPage == 0 && wanted ? size : 0;
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

constexpr int kMostMapped = -4;       // of mallopt
constexpr int kMostMappings = 65530;  // as the kernel allows a process by default

/// `place` as argument_place says.
inline uint64_t& argument_of(Saved& saved, unsigned place) {
  return reinterpret_cast<uint64_t*>(&saved)[place - 1];
}

/// True once.
inline bool is_first(uint32_t& done) {
  return __atomic_load_n(&done, __ATOMIC_RELAXED) == 0 &&
         __atomic_exchange_n(&done, 1U, __ATOMIC_ACQ_REL) == 0;
}

// Options of mallopt, beside kMostMapped.
constexpr int kTrimThreshold = -1;
constexpr int kTopPad = -2;
constexpr int kThreshold = -3;
constexpr int kMostArenas = -8;

/// The program is about to ask for a block.
inline void map_blocks(const Config& config, Shared& shared) {
  if (config.mallopt == 0 || !is_first(shared.maps_blocks)) return;
  set_option(config.mallopt, kMostMapped, kMostMappings);
  set_option(config.mallopt, kThreshold, chooses(config) ? kMappedFrom : 1);
  if (chooses(config)) {  // the end of the heap, which would be taken first, stays smaller
    set_option(config.mallopt, kTopPad, 16 << 10);
    set_option(config.mallopt, kTrimThreshold, 32 << 10);
  } else {
    set_option(config.mallopt, kMostArenas, 1);  // others begin with a heap
  }
}

/// What the library sets for itself as large blocks are freed, unless it was told otherwise.
inline void map_large_blocks(const Config& config) {
  constexpr int kLargest = 32 << 20;
  if (config.mallopt == 0) return;
  set_option(config.mallopt, kThreshold, kLargest);
  set_option(config.mallopt, kTrimThreshold, 2 * kLargest);
  set_option(config.mallopt, kTopPad, 128 << 10);
}

/// Where it stands what the program asked for when it got this block.
inline uint16_t* class_of_block(Shared& shared, uint64_t block) {
  auto* classes = reinterpret_cast<uint16_t*>(reinterpret_cast<uint8_t*>(&shared) + shared.block_classes);
  return &classes[block / kPage % kBlockClasses];
}

/// Counts enlarged blocks of the class (size_class, and 1; 0: not known) up, or with -1 down.
inline void count_enlarged(Shared& shared, uint32_t of_class, int by) {
  const auto count = [by](int32_t& number) {
    if (by > 0 || __atomic_load_n(&number, __ATOMIC_RELAXED) > 0)
      __atomic_fetch_add(&number, by, __ATOMIC_RELAXED);
  };
  count(shared.enlarged);
  if (of_class != 0 && of_class <= kSizeClasses) count(shared.enlarged_sizes[of_class - 1]);
}

/// One more block of the class may be enlarged.
inline bool has_room(Shared& shared, uint64_t size_class) {
  const int32_t enlarged = __atomic_load_n(&shared.enlarged, __ATOMIC_RELAXED);
  if (__atomic_load_n(&shared.object_sizes[size_class], __ATOMIC_RELAXED) != 0) {
    if (enlarged < kMostEnlarged) return true;
    __atomic_fetch_add(&shared.turned_away, 1, __ATOMIC_RELAXED);
    return false;
  }
  return __atomic_load_n(&shared.plain_sizes[size_class], __ATOMIC_RELAXED) == 0 &&
         enlarged < kMostUnproven &&
         __atomic_load_n(&shared.enlarged_sizes[size_class], __ATOMIC_RELAXED) < kMostOfUnprovenSize;
}

/// The call asks for a block of its own that an object may lie in: the size becomes one that is mapped.
inline void enlarge(const Config& config, Shared& shared, ThreadSlot& thread, const Site& site,
                    Saved& saved) {
  const uint8_t first = argument_place(1);
  const bool sized =
      site.object_argument == 0 && (site.size_argument == first || site.times_argument == first);
  if (!chooses(config) || config.mallopt == 0 || !sized) return;
  if (__atomic_load_n(&shared.withheld_enough, __ATOMIC_RELAXED) != 0) return;
  uint64_t& size = argument_of(saved, site.size_argument);
  const uint64_t times = site.times_argument != 0 ? argument_of(saved, site.times_argument) : 1;
  if (size > kLargestChosen || times > kLargestChosen || size * times > kLargestChosen) return;
  const uint64_t of_class = size_class(size * times);
  if (!has_room(shared, of_class)) return;
  thread.asked_class = static_cast<uint32_t>(of_class + 1);
  count_enlarged(shared, thread.asked_class, 1);
  size = kEnlarged;
  if (site.times_argument != 0) argument_of(saved, site.times_argument) = 1;
}

/// The library has given what was asked for. It has taken the block from a heap where it could.
inline void note_enlarged(const Config& config, Shared& shared, ThreadSlot& thread, uint64_t block) {
  const uint32_t asked = thread.asked_class;
  if (asked == 0) return;
  thread.asked_class = 0;
  if (block != 0 && own_mapping(config, shared, block) == kEnlargedMapping) {
    __atomic_store_n(class_of_block(shared, block), static_cast<uint16_t>(asked), __ATOMIC_RELAXED);
  } else {
    count_enlarged(shared, asked, -1);
  }
}

/// The block stops being one that was enlarged.
inline void leave_enlarged(Shared& shared, uint64_t block) {
  count_enlarged(shared, __atomic_exchange_n(class_of_block(shared, block), uint16_t{0}, __ATOMIC_RELAXED),
                 -1);
}

inline void note_size(Shared& shared, uint64_t size_class) {
  if (__atomic_load_n(&shared.object_sizes[size_class], __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&shared.object_sizes[size_class], uint8_t{1}, __ATOMIC_RELAXED);
}

/// An object is born whose counter has been read, `counter`: blocks like its own come into quarantine. Before
/// the debugger hears of the object, the program may have made and freed it.
inline void note_object(const Config& config, Shared& shared, uint64_t object, uint64_t counter) {
  if (!chooses(config) || __atomic_load_n(&shared.withheld_blocks, __ATOMIC_RELAXED) == 0) return;
  const uint32_t known = __atomic_load_n(class_of_block(shared, object), __ATOMIC_RELAXED);
  if (known != 0 && known <= kSizeClasses) return note_size(shared, known - 1);
  const bool header_there =
      object % kBlockHeader == 0 && object % kPage >= kBlockHeader && object / kPage == counter / kPage;
  if (!header_there) return;
  // What lies elsewhere than at the beginning of a block has anything there: then a size too many is taken.
  const uint64_t chunk = size_and_flags(object) & ~kBlockFlags;
  if (chunk % kBlockHeader != 0 || chunk < 2 * kBlockHeader || chunk > kLargestChosen) return;
  note_size(shared, size_class(chunk - 8));
  note_size(shared, size_class(chunk - kBlockHeader));
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
  if (!protect(begin, kPage, kReadWrite)) return;
  const uint64_t size = mapped_size(block);
  count_pages(shared, begin, size, -1);
  if (size == kEnlargedMapping) leave_enlarged(shared, block);
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

/// Then all blocks come from the heap again, which is faster.
inline bool had_enough(const Config& config, Shared& shared) {
  const uint64_t most = config.withheld_most;
  if (most == 0) return false;
  if (__atomic_load_n(&shared.withheld_enough, __ATOMIC_RELAXED) != 0) return true;
  if (__atomic_load_n(&shared.withheld_next, __ATOMIC_RELAXED) < most &&
      __atomic_load_n(&shared.withheld_time, __ATOMIC_RELAXED) < config.withheld_time)
    return false;
  if (is_first(shared.withheld_enough)) map_large_blocks(config);
  return true;
}

/// `block` is what free is about to be given: returns what it is given instead.
inline uint64_t withhold(const Config& config, Shared& shared, uint32_t blocks, uint64_t block) {
  if (had_enough(config, shared)) return block;
  const uint64_t size = own_mapping(config, shared, block);
  if (size == 0) return block;
  const uint64_t next = __atomic_fetch_add(&shared.withheld_next, 1, __ATOMIC_RELAXED);
  const uint64_t begin = block - kBlockHeader;
  count_pages(shared, begin, size, 1);
  if (!take_rights(shared, next, begin, size)) {
    count_pages(shared, begin, size, -1);
    return block;
  }
  auto* ring = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(&shared) + shared.withheld);
  const uint64_t room = chooses(config) && blocks > kMostChosen ? kMostChosen : blocks;
  const uint64_t oldest = __atomic_exchange_n(&ring[next % room], block, __ATOMIC_ACQ_REL);
  if (oldest != 0) release(shared, oldest);
  return oldest;
}

/// A function with a part in it (Site::heap) is about to run.
inline void quarantine(const Config& config, Shared& shared, ThreadSlot& thread, const Site& site,
                       Saved& saved) {
  const uint32_t blocks = __atomic_load_n(&shared.withheld_blocks, __ATOMIC_RELAXED);
  if (blocks == 0 || blocks > kMostWithheld || is_confined(shared)) return;
  if (site.heap == kGivesBlock) {
    map_blocks(config, shared);
    enlarge(config, shared, thread, site, saved);
    // The library makes a mapping as small as is asked for now.
    const bool moves = site.object_argument == argument_place(1);
    if (chooses(config) && moves && own_mapping(config, shared, saved.rdi) != 0)
      leave_enlarged(shared, saved.rdi);
  } else if (site.heap == kGivesSlice) {
    use_no_slices(config, shared);
  } else {
    saved.rdi = withhold(config, shared, blocks, saved.rdi);
  }
}

}  // namespace refhist::agent
