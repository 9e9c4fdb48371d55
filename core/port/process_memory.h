// Data memory of the program: straight from the kernel for a local process, else through the debugger.
// Never for code bytes: inserted breakpoints would show there.
#pragma once

#include "port/debugger_port.h"

namespace refhist {

class ProcessMemory {
 public:
  explicit ProcessMemory(DebuggerPort& port) : ProcessMemory(port, port.process()) {}
  /// For callers that know the process already and read often.
  ProcessMemory(DebuggerPort& port, const ProcessInfo& process)
      : port_(port), pid_(process.local ? process.pid : 0) {}

  /// Reads up to `size` bytes; returns how many bytes from `address` on could be read.
  std::size_t read(Address address, void* out, std::size_t size) const;

  /// The same with one system call for a local process: less than what could be read may come back, but 0
  /// only when nothing can be read. For callers that come again for the rest if they need it.
  std::size_t read_once(Address address, void* out, std::size_t size) const;

  bool write(Address address, const void* data, std::size_t size) const;

  template <class T>
  bool read_value(Address address, T& out) const {
    return read(address, &out, sizeof out) == sizeof out;
  }

 private:
  [[nodiscard]] std::size_t transfer(Address address, void* out, std::size_t size) const;

  DebuggerPort& port_;
  mutable long pid_;  // 0: through the port
};

/// Reads all of a local process's memory in the range, or nothing.
bool read_process(long pid, Address address, void* out, std::size_t size);

/// A task of the process that still has its memory: the process id itself, unless the main thread has ended
/// before the others. The process id when there is none.
long task_with_memory(long pid);

}  // namespace refhist
