#include "reachability/scanned_process.h"

#include <fmt/core.h>

#include <algorithm>

#include "port/process_memory.h"
#include "port/thread_halt.h"
#include "port/traced_registers.h"
#include "port/vector_registers.h"

namespace refhist {

std::vector<MemoryRegion> ScannedProcess::regions() const {
  std::vector<MemoryRegion> regions =
      info_.local && info_.pid != 0 ? read_proc_maps(info_.pid) : port_.regions();
  std::erase_if(regions, [&](const MemoryRegion& region) {
    return std::any_of(options_.ignored.begin(), options_.ignored.end(), [&](const auto& range) {
      return range.first <= region.begin && region.end <= range.second;
    });
  });
  return regions;
}

// A thread that has just begun may be new to the debugger.
std::vector<long> ScannedProcess::thread_ids() {
  if (info_.local && info_.pid != 0) return threads_of(info_.pid);
  std::vector<long> ids;
  for (const ThreadInfo& thread : port_.threads()) ids.push_back(thread.tid);
  return ids;
}

std::vector<RootThread> ScannedProcess::threads() {
  running_ = 0;
  std::vector<RootThread> threads;
  for (const long tid : thread_ids()) {
    std::optional<Registers> registers = port_.registers(tid);
    if (!registers && info_.local) registers = traced_registers(tid);
    if (!registers && info_.local && info_.pid != 0) {
      ++running_;  // its stack, in no part known to be dead, is a root as a whole
      continue;
    }
    if (!registers) {
      why_not_ = fmt::format("the registers of thread {} could not be read", tid);
      continue;
    }
    RootThread thread;
    thread.tid = tid;
    thread.registers = *registers;
    if (info_.local) thread.vector_words = traced_vector_words(tid);
    if (thread.vector_words.empty()) thread.vector_words = port_.vector_words(tid);
    threads.push_back(thread);
  }
  return threads;
}

}  // namespace refhist
