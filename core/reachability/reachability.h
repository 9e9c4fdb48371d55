// Which tracked objects can the program still reach? A conservative scan of registers, stacks, writable
// data and the heap, as LeakSanitizer does it: a word that points at an object or into it holds it.
//
// Roots are the general and vector registers of all threads, their stacks from 128 bytes below the stack
// pointer up, writable data of all modules, thread-local storage, every other writable mapping that is not
// the allocator's, and what the kernel keeps for the program (kernel_pointers.h). The heap of glibc's malloc
// (2.35 to 2.41, all arenas and mapped chunks) is understood chunk by chunk: a chunk holds what it points at
// once it is reached itself, and a free chunk holds nothing. Where a heap is not understood (another
// allocator, a chunk header overwritten) its memory is a root as a whole: stale pointers may then make a leak
// look reachable, and heap_walked says so.
//
// Limits. All but the first, and sizes that are given or guessed too small, can hide a leak but not invent
// one:
//   - a pointer is seen as an aligned word that points at the object or into it: not when it is stored
//     unaligned, compressed, or mangled;
//   - a word that is no pointer but has the value of one holds, and so does a stale pointer in a stack frame
//     in use, in padding, in the stack of an ended thread of a static program, or in a free slot of a slab
//     whose allocator is not followed (ReachOptions::cut): only the live tracked objects in such a slab hold
//     nothing until they are reached;
//   - what is a slab is judged by the block alone (see reachability_objects.h); a lone object of unknown size
//     is its whole slab, several have the size of the smallest distance between two; outside malloc an
//     object of unknown size has 16 bytes;
//   - a pointer to the first object of a pool is a pointer to the pool, and the other way round;
//   - pages of mapped files other than modules count only where the program has touched them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "port/debugger_port.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

namespace refhist {

struct TrackedBlock {
  ObjectId object;
  Address begin = 0;
  std::uint64_t size = 0;       ///< bytes; 0 when unknown: then as large as its block of malloc
  bool control_block = false;   ///< a smart pointer's: whoever holds a reference points at its beginning
  Address managed = 0;          ///< the object that a control block manages; 0: none, or not known
  std::int64_t references = 0;  ///< that it still has; 0: not known
  bool python = false;          ///< CPython's: in a pool, perhaps, and with the collector's links in front
  bool listed = false;          ///< a pointer at its beginning from ReachOptions::lists does not hold it
};

/// A pointer in a cycle of what is lost: it points at the memory of the next step.
struct LostStep {
  Address word = 0;
  Address begin = 0;  ///< of the object or block that it lies in
  ObjectId object;    ///< not valid: a block that is no tracked object
};

enum class Reach : std::uint8_t {
  unreachable,  ///< nothing outside itself points at it
  from_leaked,  ///< only unreachable objects (or unreachable heap blocks) point at it; so all of a lost cycle
  reachable,    ///< a root, or something reachable, points at it; also when the scan could not tell
};

struct ReachOfObject {
  ObjectId object;
  Reach reach = Reach::reachable;
  bool freed = false;  ///< the allocator has its memory back: it ended unseen (reach says nothing then)
  Address holder = 0;  ///< one word that points at it; 0 when none, or when a register does
  std::string where;   ///< "register rbx of thread 12", "stack of thread 12", "conn_table+16 (a.out)"
  bool held_by_leak = false;       ///< another lost tracked object leads to it, and is in no cycle with it
  std::uint32_t cycle_number = 0;  ///< the same for all that hold each other; 0: in no cycle
  std::vector<LostStep> cycle;     ///< a way from it to itself, its own pointer first; may be unknown
  ObjectId holder_object;          ///< the tracked object the holder lies in, if any
  bool counted = false;            ///< its counter was read then
  std::optional<std::int64_t> counter;  ///< what its counter read then, where the events say otherwise
};

struct ReachOptions {
  /// The process is in its last call (_exit): frames of the exit machinery and dead registers are no roots.
  bool at_exit = false;
  long exiting_thread = 0;  ///< it makes a raw exit system call, from which nothing returns to its registers
  std::function<bool(std::size_t done, std::size_t total)> progress;  ///< bytes; false interrupts
  std::vector<std::pair<Address, Address>> ignored;  ///< memory whose contents are no roots: [begin, end)
  /// Blocks of malloc that another allocator, such as GSlice, cuts its own out of: [begin, end), by address.
  std::vector<std::pair<Address, Address>> slabs;
  std::vector<std::pair<Address, Address>> cut;  ///< its own that are handed out: [begin, end), by address
  bool all_cut = false;                          ///< it has no others: the rest of a slab is free
  bool withholds = false;  ///< what the program has given back may stay mapped and unreadable: `quarantine`
  /// Memory that lists objects without a reference: [begin, end), by address.
  std::vector<std::pair<Address, Address>> lists;
  /// The code of the one's end gives back references of the other. Asked for members of lost cycles only.
  std::function<bool(ObjectId ending, ObjectId given)> end_gives_back;
  std::size_t cache_bytes = std::size_t{256} << 20;  ///< heap contents kept in memory here during the scan
};

struct ReachResult {
  bool complete = true;  ///< false: interrupted, or memory could not be read (see why_not)
  std::string why_not;
  std::size_t running_threads = 0;     ///< whose registers nobody can read, while they change the memory
  bool heap_walked = false;            ///< the allocator was understood; else (part of) its memory was a root
  std::string heap_why_not;            ///< what was not understood first
  std::uint64_t bytes_scanned = 0;     ///< bytes read, those read twice counted twice
  std::vector<ReachOfObject> objects;  ///< in the order of the blocks given
};

/// Never throws for what the program's memory holds; an interrupted scan says `reachable` of every object.
ReachResult scan_reachability(DebuggerPort& port, const ModuleMap& modules, Unwinder& unwinder,
                              const std::vector<TrackedBlock>& blocks, const ReachOptions& options);

}  // namespace refhist
