// Everything that holds objects by itself: registers, stacks, data of modules, thread-local storage, and all
// other writable memory that is not the allocator's.
#pragma once

#include <string>
#include <vector>

#include "heap/heap_map.h"
#include "heap/reachability_ranges.h"
#include "port/registers.h"
#include "reachability/reachability_layout.h"
#include "reachability/reachability_threads.h"

namespace refhist {

/// A thread as the scan sees it: at exit, without what the exit machinery has ended.
struct RootThread {
  long tid = 0;
  Registers registers;
  std::vector<Address> vector_words;  ///< what its vector registers hold
  bool saved_only = false;            ///< only the callee-saved registers mean anything
  Address stack_begin = 0;            ///< lowest byte of its stack that is in use
  AddressRange stack;                 ///< the whole stack, clipped to writable memory; empty when unknown
};

/// A word outside the program's memory.
struct RegisterRoot {
  Address value = 0;
  std::string where;  ///< "register rbx of thread 12"
};

struct RootRange {
  AddressRange range;
  Backing backing = Backing::anonymous;
};

class RootSet {
 public:
  /// Sets stack and stack_begin of the threads. `kernel`: see kernel_pointers.h.
  RootSet(const MemoryLayout& layout, HeapMap& heap, std::vector<ThreadBlock> blocks,
          std::vector<RootThread> threads, const std::vector<RegisterRoot>& kernel);

  /// Named data first: when several words hold an object, the first one found is shown.
  [[nodiscard]] const std::vector<RootRange>& ranges() const { return ranges_; }
  [[nodiscard]] const std::vector<RegisterRoot>& registers() const { return registers_; }
  [[nodiscard]] const std::vector<RootThread>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<ThreadBlock>& blocks() const { return blocks_; }

 private:
  AddressRange stack_of(const MemoryLayout& layout, Address sp) const;
  void add_thread(const MemoryLayout& layout, HeapMap& heap, RootThread& thread);
  void add_registers(const RootThread& thread);
  void add_ranges(const MemoryLayout& layout, const HeapMap& heap);
  [[nodiscard]] bool in_a_stack(Address address) const;

  std::vector<ThreadBlock> blocks_;
  std::vector<RootThread> threads_;
  std::vector<RootRange> ranges_;
  std::vector<RegisterRoot> registers_;
  std::vector<AddressRange> dead_;  // below the stack pointers, and stacks of threads that have ended
};

}  // namespace refhist
