// Stacks and thread-local storage of glibc's threads, found by the struct pthread at the top of each stack.
// It also tells the stacks of threads that have ended, which glibc keeps for later threads: nothing that
// still lies there holds anything.
#pragma once

#include <vector>

#include "heap/reachability_memory.h"
#include "heap/reachability_ranges.h"

namespace refhist {

struct ThreadBlock {
  long tid = 0;           ///< 0: the thread has ended
  Address control = 0;    ///< its struct pthread
  AddressRange stack;     ///< with thread-local storage and control block; empty for the main thread
  Address tls_begin = 0;  ///< lowest thread-local variable; `control` when unknown
  bool cached = false;    ///< glibc keeps the stack for a later thread
};

/// `anonymous`: writable memory without a file, outside malloc's.
std::vector<ThreadBlock> find_thread_blocks(ScanMemory& memory, const std::vector<AddressRange>& anonymous);

}  // namespace refhist
