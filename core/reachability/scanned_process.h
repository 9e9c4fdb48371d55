// The process as a scan of its memory sees it: its regions without what is ours, its threads' registers.
#pragma once

#include <string>
#include <vector>

#include "heap/reachability_ranges.h"
#include "port/debugger_port.h"
#include "reachability/reachability.h"
#include "reachability/reachability_roots.h"

namespace refhist {

class ScannedProcess {
 public:
  ScannedProcess(DebuggerPort& port, const ReachOptions& options)
      : port_(port), options_(options), info_(port.process()) {}

  [[nodiscard]] const ProcessInfo& info() const { return info_; }
  [[nodiscard]] std::vector<MemoryRegion> regions() const;
  /// As they stand, all registers meaningful.
  std::vector<RootThread> threads();
  /// Of the last look at the threads: those that run, and why the registers of another could not be read.
  [[nodiscard]] std::size_t running_threads() const { return running_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  std::vector<long> thread_ids();

  DebuggerPort& port_;
  const ReachOptions& options_;
  ProcessInfo info_;
  std::size_t running_ = 0;
  std::string why_not_;
};

}  // namespace refhist
