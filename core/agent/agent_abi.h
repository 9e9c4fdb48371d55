// What the agent in the program and the core in the debugger share. The agent's build has no C++ library, so
// neither has this file.
//
// Three pieces of memory in the program:
//   code     mapped read-only and executable; the debugger writes it through its own mapping: the agent, its
//            Config, the stubs and the Sites that they name. Several pieces, each near the modules it serves.
//   data     shared with the debugger: Shared, thread table, ThreadSlots, rings.
//   control  one private page that fork gives the child as zeros: a child goes on unrecorded by itself.
#pragma once

#include <stdint.h>

namespace refhist::agent {

constexpr uint32_t kThreadSlots = 1024;   ///< threads that can be followed at one time, at most
constexpr uint32_t kSoleNumbers = 2048;   ///< see Shared::sole; more than kThreadSlots
constexpr uint32_t kThreadTable = 4096;   ///< entries of the table by thread pointer; a power of two
constexpr uint32_t kRingRecords = 16384;  ///< for each thread; a power of two
constexpr uint32_t kRingSlack = 64;       ///< kept free for signal handlers that interrupt the agent
constexpr uint32_t kPage = 4096;
constexpr uint32_t kMostWithheld = 16384;       ///< blocks in quarantine at one time, at most
constexpr uint32_t kBlockClasses = 1U << 20U;   ///< pages that are told apart; a power of two
constexpr uint32_t kWithheldPages = 1U << 20U;  ///< bytes, one for each page of 4 GiB; a power of two
constexpr uint32_t kWalkers =
    3;  ///< of a thread: for itself, and for signal handlers that interrupt the agent

constexpr uint32_t kFrameBytes = 1U << 20U;  ///< at the end of each piece of code: .eh_frame_hdr, .eh_frame
constexpr uint32_t kStopBytes = kPage;       ///< in front of that in the first piece: where the agent stops

enum class RecordKind : uint8_t {
  entry = 1,
  returned = 2,
  nothing = 3,  ///< a compare-and-exchange that failed
};

enum RecordFlag : uint8_t {
  kHasCount = 1,    ///< `count` was read
  kHasPointed = 2,  ///< `extra` is the pointer that was read where the argument points
  kTruncated = 4,   ///< the stack is not whole
  kLastPut = 16,    ///< nobody else can change the counter, and this put takes it to zero
  kCounting = 32,   ///< not finished: all but count and time is there, and the counter is being read
  kHasFreed = 64,   ///< `extra` and `count` are the words of a freed block that Site::freed_words names
  kCandidate = 8,   ///< a stop rule may want the program stopped here; the thread goes on to Config::stop
};

/// What an event does to its object, as far as stop rules care.
enum class Effect : uint8_t {
  none,
  get,
  put,
  birth,
  free,        ///< of the object itself
  free_block,  ///< of memory that objects may lie in
  move_block,  ///< realloc
  end_pool,
};

enum Watch : uint8_t {
  kWatchZero = 1,     ///< a put that takes the counter to zero
  kWatchBalance = 2,  ///< whatever may be a mistake
  kWatchCount = 4,    ///< a get that takes the counter above Site::above
  kWatchEach = 8,     ///< every event of the object at Site::each
};
/// What a function does with a block, as far as quarantine cares.
enum HeapCall : uint8_t {
  kGivesBlock = 1,  ///< of the C library's malloc
  kFreesBlock = 2,  ///< the same
  kGivesSlice = 3,  ///< of GLib's GSlice
};
constexpr uint64_t kEveryObject = ~uint64_t{0};

/// One event. `lap` is written last: the record is whole when it holds the number of this turn of the ring.
struct Record {
  uint64_t time;       ///< time stamp counter, read together with `count`
  uint64_t object;     ///< entry: the object, or what the argument is; returned: the result
  uint64_t count;      ///< the counter's bytes, not sign-extended
  uint64_t sp;         ///< stack pointer at the function's entry
  uint64_t return_pc;  ///< where the call returns to
  uint64_t extra;      ///< entry: size, pool, or the operand of an inlined copy's instruction; returned: the
                       ///< pointer behind an indirect argument
  uint32_t site;
  uint32_t stack;  ///< node of the stack trie; 0 none
  RecordKind kind;
  uint8_t flags;
  uint16_t depth;  ///< frames of the stack
  uint32_t lap;
};
static_assert(sizeof(Record) == 64);

/// What a stub tells the agent about its site. Written by the debugger, read-only in the program.
struct Site {
  uint32_t id;
  int32_t sp_bias;         ///< bytes from the stack pointer at the stub up to that at the function's entry
  int64_t counter_offset;  ///< from the object
  uint64_t function;       ///< where the probed function begins, and its bytes
  uint32_t function_size;
  int32_t counter_scale;  ///< count = scale * (bytes >> shift) + bias
  int32_t counter_bias;
  int32_t born;   ///< references of a new object
  uint64_t each;  ///< kWatchEach: an object's address, or kEveryObject
  int32_t above;  ///< kWatchCount: references
  uint32_t last;  ///< inlined: an event only where the counter's bytes are this; 0: always
  uint64_t only;  ///< stop rules look at the object at this address only; 0: at every one
  uint16_t family;
  uint8_t counter_size;      ///< 1, 2, 4 or 8; 0: no counter
  uint8_t counter_unsigned;  ///< by its type
  uint8_t object_argument;   ///< a place in Saved, as argument_place says; 0: the object is the result
  uint8_t indirect;          ///< the argument points at the pointer
  uint8_t pointer_at_entry;  ///< indirect, and the pointer is there at entry already
  uint8_t counts_at_entry;   ///< the counter of the object is to be read at entry
  uint8_t size_argument;     ///< a place in Saved; 0 none
  uint8_t times_argument;    ///< multiplies the size
  uint8_t pool_argument;     ///< for results that come from a pool; then there is no size
  uint8_t counter_shift;
  uint8_t counter_bits;  ///< from that bit on; 0: all
  Effect effect;
  uint8_t at_return;         ///< the effect is known when the call returns
  uint8_t success;           ///< when it has one, by the result: as the core's Success
  uint8_t blind;             ///< the family's count moves where no probe is: that is no mistake
  uint8_t watch;             ///< Watch flags: which stop rules look at this site
  uint8_t tells_end;         ///< a put or get whose return is seen, so that it counts as inside until then
  uint8_t by_frame_pointer;  ///< inlined: rbp points at the caller's rbp; sp_bias says nothing
  uint8_t compares;          ///< inlined: a compare-and-exchange
  uint8_t heap;              ///< HeapCall
  uint8_t inlined;  ///< an instruction inside a function: the stub says where the counter is, and its operand
  /// Of a block that is freed: which of its 8-byte words are recorded, counted from 1; 0 none. The first
  /// is 0 only if both are.
  uint16_t freed_words[2];
};
static_assert(sizeof(Site) == 96);

/// The agent's only constants. Lies in the code memory, written by the debugger.
struct Config {
  uint64_t shared;      ///< address of Shared in the program
  uint64_t control;     ///< address of Control in the program
  uint32_t tid_offset;  ///< of the kernel's thread id from the thread pointer
  uint32_t stacks;      ///< frames to capture; 0 none
  struct Piece {
    uint64_t begin;
    uint64_t size;         ///< bytes
  } code[4];               ///< the pieces of code memory
  uint64_t stop;           ///< AskDebugger, with a breakpoint of the debugger's
  uint64_t mallopt;        ///< the C library's function; 0: not known
  uint64_t slice_config;   ///< GLib's g_slice_set_config; 0: not known
  uint64_t withheld_most;  ///< that many blocks come into quarantine, and no more; 0: all
  uint64_t withheld_time;  ///< nanoseconds in the kernel for it, where not all blocks come into it
  uint64_t nothing;  ///< stays 0: what `control` points at once the debugger is through with this memory
};

/// Asks the debugger about a call: its Site, the stack pointer at its function's entry, and whether the call
/// has been here before. 1: the thread shall stand at the function again.
using AskDebugger = uint64_t (*)(const Site* site, uint64_t sp, uint64_t again);

struct Control {
  uint32_t enabled;  ///< 0: everything passes through unrecorded
};

struct ThreadTableEntry {
  uint64_t thread_pointer;  ///< 0: free
  uint32_t tid;             ///< as it stood at the thread pointer when the slot was taken
  uint32_t slot;
};

/// The last call of a thread that was seen to enclose another one on the same object: mostly a call that a
/// signal handler interrupted, before or after it changed the counter.
struct OuterCall {
  uint64_t entry;  ///< ObjectEntry, as an offset from Shared; 0 none
  uint64_t site;   ///< address of the Site
  uint64_t sp;     ///< at its function's entry
  uint64_t return_pc;
};

/// A call whose thread went back to its function, until the debugger has seen it arrive there.
struct SentBack {
  uint64_t site;  ///< address of the Site, of which every stub has its own; 0 none
  uint64_t sp;    ///< at the function's entry
};

/// One thread. The agent owns it from `taken` on; the debugger gives it back once the thread is gone and its
/// ring is empty.
struct ThreadSlot {
  uint32_t taken;
  int32_t tid;    ///< by the kernel
  char name[16];  ///< of the thread when the slot was taken
  OuterCall outer;
  uint32_t processor;  ///< where the thread last read the time stamp counter
  uint32_t owner;      ///< the thread's number as it stood at the thread pointer when the slot was taken
  // The agent's cache lines.
  uint64_t reserved;     ///< records begun
  uint64_t finished;     ///< records finished, by whoever runs on the thread: tells an interrupted reader
  uint64_t lost;         ///< events dropped because the ring stayed full
  uint64_t oldest_sp;    ///< stack pointer of the outermost activation
  uint32_t level;        ///< activations of the agent on this thread: more than one inside a signal handler
  uint32_t asked_class;  ///< size_class, and 1, that a call asks for which quarantine has made larger; 0 none
  uint64_t held;         ///< ObjectEntry, as an offset from Shared, that this thread holds; 0 none
  uint64_t sole;         ///< Shared::sole when the thread last read the time stamp counter
  uint64_t last_stamp;   ///< time of its last event
  // The debugger's cache line.
  uint64_t consumed;
  SentBack sent;
  uint64_t unused3[5];
};
static_assert(sizeof(ThreadSlot) == 192);

/// Where quarantine chooses its blocks by their size: up to this one, bytes.
constexpr uint64_t kLargestChosen = 8192;
constexpr uint64_t kSizeGranule = 16;
constexpr uint64_t kSizeClasses = kLargestChosen / kSizeGranule + 1;
inline uint64_t size_class(uint64_t size) { return (size + kSizeGranule - 1) / kSizeGranule; }

struct Shared {
  uint64_t heartbeat;   ///< counts on as long as somebody takes records
  uint32_t slots_full;  ///< events lost because every slot was taken
  uint32_t slot_hint;   ///< where the search for a free slot begins
  uint64_t table;       ///< offsets from Shared
  uint64_t slots;
  uint64_t rings;
  uint64_t walkers;       ///< kWalkers for each slot
  uint64_t walk;          ///< WalkerShared
  uint64_t objects;       ///< ObjectEntry, of the families that stop rules look at
  uint64_t granules;      ///< one bit for 16 bytes of memory: an object of these families may begin there
  uint32_t thread_slots;  ///< how many there are; up to kThreadSlots
  uint32_t object_mask;   ///< ObjectEntries, a power of two, less one
  uint32_t undecided;     ///< puts among others that did not return: one of them may have been a last one
  uint32_t objects_full;  ///< events on objects that had no room in that table
  uint32_t watched;       ///< how many of `families` there are; more than kWatchedFamilies: not all are named
  uint16_t families[16];  ///< that stop rules look at
  uint32_t confined;      ///< the program filters its system calls (seccomp): the agent makes none
  uint32_t no_stamps;     ///< the program may not read the time stamp counter: `last_stamp` counts on instead
  uint64_t last_stamp;
  /// The slot, from 1, of the thread that nobody else has recorded beside of late, and above kSoleNumbers a
  /// number that changes with each look of the debugger's; 0: none. Threads may take it away.
  uint64_t sole;
  /// Below this address nothing was mapped when the debugger looked: what is passed for an object there may
  /// be a number in a pointer's clothes.
  uint64_t lowest;
  uint32_t withheld_blocks;  ///< in quarantine at one time, up to kMostWithheld; 0: no quarantine
  uint64_t withheld_pages;   ///< offset from Shared: how many pages are in quarantine, by the page's number
  uint64_t withheld;         ///< offset from Shared: addresses of the blocks in quarantine, as a ring; 0 none
  uint32_t sets_slices;      ///< GLib has been told to take each slice from malloc
  uint32_t maps_blocks;      ///< the C library has been told to map each block for itself
  uint64_t withheld_next;    ///< blocks that have come into it so far
  uint64_t withheld_time;    ///< nanoseconds that the kernel has taken for it, by what was measured of some
  uint32_t withheld_enough;  ///< no more are to come into it
  int32_t enlarged;          ///< blocks that the program has got larger than it asked, and has not given back
  /// By size_class: 1 where no object lies in blocks of the size, which then stay out of quarantine. Written
  /// by the debugger.
  uint8_t plain_sizes[kSizeClasses];
  /// By size_class: 1 where an object has been seen in a block of the size, whatever `plain_sizes` says. The
  /// agent knows at once, the debugger knows more; nobody takes it back.
  uint8_t object_sizes[kSizeClasses];
  int32_t enlarged_sizes[kSizeClasses];  ///< `enlarged`, by size_class
  uint64_t
      block_classes;     ///< offset from Shared: size_class, and 1, of enlarged blocks, by the page's number
  uint64_t turned_away;  ///< blocks of sizes that objects have, for which quarantine had no room
  uint32_t unattended;   ///< nobody has taken records for long: what finds no room is lost without waiting
};
constexpr uint32_t kWatchedFamilies = 16;

inline bool is_confined(const Shared& shared) {
  return __atomic_load_n(&shared.confined, __ATOMIC_RELAXED) != 0;
}

/// The registers as a stub saves them, lowest address first.
struct Saved {
  uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, flags, rax;
};

/// The place of an integer argument (1 to 6) among the words of Saved, counted from 1.
constexpr uint8_t argument_place(unsigned number) {
  constexpr uint8_t kPlaces[] = {0, 5, 6, 7, 8, 4, 3};
  return number <= 6 ? kPlaces[number] : 0;
}

}  // namespace refhist::agent
