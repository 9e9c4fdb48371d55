// The stopped program during one call from a debugger: its memory and registers by the fastest way there is.
#pragma once

#include <optional>
#include <string>

#include "events/thread_names.h"
#include "history/history.h"
#include "port/debugger_port.h"
#include "port/process_memory.h"
#include "symbols/module.h"

namespace refhist {

class ProgramAccess {
 public:
  /// `tracer_here`: the calling thread is the program's tracer, so ptrace gives registers without the
  /// debugger.
  ProgramAccess(DebuggerPort& port, const ProcessInfo& process, bool tracer_here)
      : port_(port), process_(process), memory_(port, process), tracer_here_(tracer_here) {}

  [[nodiscard]] std::optional<Registers> registers(long tid) const;
  [[nodiscard]] const ProcessMemory& memory() const { return memory_; }
  [[nodiscard]] DebuggerPort& port() const { return port_; }
  [[nodiscard]] const ProcessInfo& process() const { return process_; }
  [[nodiscard]] std::string thread_name(long tid, ThreadNames& names) const;
  [[nodiscard]] bool thread_lives(long tid) const;
  /// The counter of the object, as the family's spec counts; nothing when unreadable.
  [[nodiscard]] Count read_count(const MemberPlace& place, const CounterSpec& spec, Address object) const;

  /// True when the calling thread traces the process (then ptrace is ours to use).
  static bool is_tracer(long pid);

 private:
  DebuggerPort& port_;
  const ProcessInfo& process_;
  ProcessMemory memory_;
  bool tracer_here_;
};

}  // namespace refhist
