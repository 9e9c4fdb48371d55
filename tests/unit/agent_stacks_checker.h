// Captures stacks of this process with the agent's walker and compares each, frame for frame, with the core's
// unwinder. The shared memory is mapped twice, as in a program and its debugger.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "agent/stack_walker.h"
#include "agent_tables/stack_nodes.h"
#include "agent_tables/walker_memory.h"
#include "local_process.h"
#include "symbols/unwinder.h"

/// Called anywhere in a test's code: captures and compares. Keeps the flags of the stack alignment, nothing
/// else.
extern "C" void agent_stacks_probe();

namespace refhist_test {

using namespace refhist;

constexpr unsigned kStackLimit = 64;

/// The walker's shared memory of one test.
class WalkerMappings {
 public:
  explicit WalkerMappings(const WalkerSizes& sizes = {});
  ~WalkerMappings();
  WalkerMappings(const WalkerMappings&) = delete;
  WalkerMappings& operator=(const WalkerMappings&) = delete;

  /// Publishes what is loaded now, and what is given.
  void publish(const std::vector<WalkerMemory::Placed>& more = {});

  agent::WalkerShared* program() { return static_cast<agent::WalkerShared*>(program_); }
  WalkerMemory& debugger() { return *memory_; }
  StackNodes nodes() { return StackNodes(*memory_); }
  const ModuleMap& modules() const { return modules_; }

 private:
  std::size_t size_;
  void* program_ = nullptr;
  void* debugger_ = nullptr;
  std::unique_ptr<WalkerMemory> memory_;
  LocalProcess process_;
  ModuleMap modules_;
  std::map<std::string, std::shared_ptr<const CompactCfi>> tables_;  // by path
};

struct StackCounts {
  std::size_t captures = 0;
  std::size_t mismatches = 0;
  std::size_t cut_short = 0;   ///< truncated although the limit was not reached
  std::size_t coroutines = 0;  ///< of these: at the begin of a coroutine, which libc does not describe
  std::size_t signal_frames = 0;
  std::size_t given_up = 0;  ///< without a frame, for modules that changed too often
  std::string first;         ///< the first mismatch, told
  std::string first_cut;     ///< the first that was cut short

  void add(const StackCounts& other);
};

/// One thread's captures and its own reference to compare with.
class StackChecker {
 public:
  explicit StackChecker(WalkerMappings& mappings);

  /// From now on agent_stacks_probe of this thread comes here.
  void use();
  /// `registers` are those at the entry of a function.
  void check(const Registers& registers);
  /// In a signal handler: captures into a WalkerThread of its own, so that what it interrupts is not
  /// disturbed.
  void enter_handler() { ++level_; }
  void leave_handler() { --level_; }

  /// For signals that may come anywhere, where nothing but the capture is allowed: from now on each is kept
  /// together with the stack up to `top`, and compared by compare_recorded.
  void record(Address top);
  void compare_recorded();
  /// When modules came or went.
  void refresh();

  agent::Captured capture(const Registers& registers);
  void compare(const Registers& registers, const agent::Captured& captured, const MemoryReader& read);

  StackCounts counts;
  bool in_coroutine = false;

 private:
  std::string told(const std::vector<RawFrame>& frames) const;

  struct Recorded {
    Registers registers;
    agent::Captured captured;
    std::size_t at = 0;  // in recorded_bytes_
  };
  static constexpr int kLevels = 8;
  void keep(const Registers& registers);

  Address top_ = 0;
  std::size_t recorded_count_ = 0;
  std::size_t recorded_size_ = 0;
  std::vector<Recorded> recorded_;
  std::vector<char> recorded_bytes_;
  WalkerMappings& mappings_;
  LocalProcess process_;
  ModuleMap modules_;
  Unwinder unwinder_;
  std::vector<agent::WalkerThread> threads_;
  std::atomic<int> level_ = 0;
};

/// Of the calling thread.
StackChecker& current_checker();

}  // namespace refhist_test
