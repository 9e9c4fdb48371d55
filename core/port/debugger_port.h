// What the core asks of a debugger. One implementation per debugger; handed in per call, never kept,
// so that nothing calls into a debugger that has begun to exit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "port/registers.h"

namespace refhist {

enum class ProcessState { none, stopped, running, exited, core };

struct ProcessInfo {
  ProcessState state = ProcessState::none;
  long pid = 0;            ///< 0 when there is no live process
  bool local = false;      ///< /proc/PID is this process's (same machine, not a core file)
  std::string executable;  ///< path of the program's file; empty when unknown
};

struct ThreadInfo {
  long tid = 0;
  std::string name;
};

/// A loaded file. `bias` is what is added to a file address to get the address in memory.
struct ModuleInfo {
  std::string path;
  Address bias = 0;
};

struct MemoryRegion {
  Address begin = 0;
  Address end = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  Address file_offset = 0;
  std::string path;  ///< file name, "[heap]", "[stack]", or empty
};

class DebuggerPort {
 public:
  virtual ~DebuggerPort() = default;

  /// "gdb" or "lldb": for messages only, never for decisions.
  [[nodiscard]] virtual std::string_view name() const = 0;
  virtual ProcessInfo process() = 0;

  /// Reads all of [address, address + size) as data; false when any byte is unreadable.
  virtual bool read_memory(Address address, void* out, std::size_t size) = 0;
  /// Only for memory that the program does not use any more.
  virtual bool write_memory(Address address, const void* data, std::size_t size) = 0;
  virtual std::optional<Registers> registers(long tid) = 0;
  virtual std::vector<ThreadInfo> threads() = 0;
  /// Asked only where the core cannot read /proc itself (remote, core file, no process yet).
  virtual std::vector<ModuleInfo> modules() = 0;
  virtual std::vector<MemoryRegion> regions() = 0;
  /// The debugger's own unwinder: pcs, innermost first.
  virtual std::vector<Address> backtrace(long tid, std::size_t limit) = 0;

  /// Arms an internal, silent breakpoint; every hit comes back as Session::hit. False when refused.
  virtual bool place_breakpoint(Address address) = 0;
  virtual void remove_breakpoint(Address address) = 0;
  /// False when the breakpoint is gone or switched off behind our back.
  virtual bool breakpoint_alive(Address address) = 0;

  /// A thread is reported at a breakpoint again, and nothing of it has changed: whether this is one hit, if
  /// the debugger knows it itself. Costs much.
  virtual std::optional<bool> is_hit_again(Address) { return std::nullopt; }

  /// Value of an expression in the user's language and selected frame. Throws Error.
  virtual Address evaluate(const std::string& expression) = 0;

  /// A line for the user, outside any command result (a stop reason, progress).
  virtual void print(std::string_view text) = 0;
  /// True once the user has pressed Ctrl-C during the running command.
  virtual bool interrupted() = 0;
};

}  // namespace refhist
