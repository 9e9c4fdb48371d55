// What the core asks of a debugger. One implementation per debugger; handed in per call, never kept,
// so that nothing calls into a debugger that has begun to exit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "port/registers.h"
#include "port/system_call.h"

namespace refhist {

enum class ProcessState { none, stopped, running, exited, core };

class TaskView;

struct ProcessInfo {
  ProcessState state = ProcessState::none;
  long pid = 0;            ///< 0 when there is no live process
  bool local = false;      ///< /proc/PID is this process's (same machine, not a core file)
  std::string executable;  ///< path of the program's file; empty when unknown
  /// Its threads, where the debugger's are processors: a kernel's. Null for a program; never set by a
  /// debugger.
  TaskView* tasks = nullptr;
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
  /// Writes all bytes; breakpoints that stand there stay in place. False when it could not.
  virtual bool write_memory(Address address, const void* bytes, std::size_t size) {
    (void)address, (void)bytes, (void)size;
    return false;
  }
  /// The thread, which stands at a breakpoint of ours, goes on somewhere else. False when it could not be
  /// told.
  virtual bool set_pc(long tid, Address address) {
    (void)tid, (void)address;
    return false;
  }
  /// The same with all of its general registers.
  virtual bool set_registers(long tid, const Registers& registers) {
    (void)tid, (void)registers;
    return false;
  }
  /// Can `run_system_calls` be asked of this thread as it stands?
  virtual bool can_run_system_calls(long tid) {
    (void)tid;
    return false;
  }
  /// Runs system calls in the stopped thread, and nothing else of the program; false when it could not. Asked
  /// only where the core is not the tracer itself.
  virtual bool run_system_calls(long tid, std::span<SystemCall> calls) {
    (void)tid, (void)calls;
    return false;
  }
  virtual std::optional<Registers> registers(long tid) = 0;
  /// Words of the thread's vector registers; asked only where the core cannot ask the kernel. Empty where the
  /// debugger cannot tell.
  virtual std::vector<Address> vector_words(long /*tid*/) { return {}; }
  virtual std::vector<ThreadInfo> threads() = 0;
  /// The thread that the user sees; 0: not known.
  virtual long selected_thread() { return 0; }
  /// Asked only where the core cannot read /proc itself (remote, core file, no process yet).
  virtual std::vector<ModuleInfo> modules() = 0;
  virtual std::vector<MemoryRegion> regions() = 0;
  /// The debugger's own unwinder: pcs, innermost first.
  virtual std::vector<Address> backtrace(long tid, std::size_t limit) = 0;

  /// Arms an internal, silent breakpoint; every hit comes back as Session::hit. False when refused.
  virtual bool place_breakpoint(Address address) = 0;
  virtual void remove_breakpoint(Address address) = 0;
  /// Breakpoints at one instruction and at the next work among threads.
  [[nodiscard]] virtual bool can_stop_behind() const { return true; }
  /// A step of the user's that comes to a breakpoint of ours goes on behind it. LLDB's run on to somewhere
  /// else.
  [[nodiscard]] virtual bool can_step_past_breakpoints() const { return true; }
  /// Where a step or a finish of the user's does not end, but goes on to the caller.
  enum class PassedLine {
    no_statement,  ///< GDB: in the middle of a line that begins no statement
    zero           ///< LLDB: in line 0
  };
  [[nodiscard]] virtual PassedLine passed_line() const { return PassedLine::no_statement; }
  /// The core hears of a step before it begins. Not where an editor has LLDB step.
  [[nodiscard]] virtual bool tells_of_steps() const { return true; }
  /// False when the breakpoint is gone or switched off behind our back.
  virtual bool breakpoint_alive(Address address) = 0;

  /// Arms a hardware watchpoint for writes; every change comes back as Session::changed. Empty when done,
  /// else why not, in one line.
  virtual std::string place_watchpoint(Address address, unsigned size) {
    (void)address, (void)size;
    return "this debugger cannot";
  }
  virtual void remove_watchpoint(Address /*address*/) {}
  /// False when it is gone or switched off behind our back.
  virtual bool watchpoint_alive(Address /*address*/) { return false; }

  /// Where breakpoints of the user stand.
  virtual std::vector<Address> user_breakpoints() { return {}; }

  /// Names and frames of code of ours in the program: an ELF file, from now on (again) what it says. An empty
  /// path takes back what was told for this bias. The port removes the file when the debugger no longer reads
  /// it.
  virtual void show_code(const std::string& path, Address bias) { (void)path, (void)bias; }
  /// Can the debugger stop a thread that is about to make an exit system call by itself, past every function?
  [[nodiscard]] virtual bool can_catch_raw_exit() const { return false; }
  /// From now on every such call comes back as Session::raw_exit, or no longer. False when refused.
  virtual bool catch_raw_exit(bool /*on*/) { return false; }
  /// False when the user has deleted or disabled what catches it.
  virtual bool raw_exit_caught() { return false; }
  /// A SIGSTOP of the core's is on its way to a thread: from now on until the process ends, none stops the
  /// program or reaches it. False when refused.
  virtual bool expect_halts() { return false; }
  /// The thread ends the program as soon as it goes on. Others need not go on before.
  virtual void let_end(long /*tid*/) {}
  /// A thread is reported at a breakpoint again, and nothing of it has changed: whether this is one hit, if
  /// the debugger knows it itself. Costs much.
  virtual std::optional<bool> is_hit_again(Address) { return std::nullopt; }

  /// A variable of the environment that the program is started with next; nothing when it is not set.
  virtual std::optional<std::string> environment(const std::string& name) {
    (void)name;
    return std::nullopt;
  }
  /// No value: it is not set. False when it could not be done.
  virtual bool set_environment(const std::string& name, const std::optional<std::string>& value) {
    (void)name, (void)value;
    return false;
  }

  /// Value of an expression in the user's language and selected frame. Throws Error.
  virtual Address evaluate(const std::string& expression) = 0;

  /// A line for the user, outside any command result (a stop reason, progress).
  virtual void print(std::string_view text) = 0;
  /// True once the user has pressed Ctrl-C during the running command.
  virtual bool interrupted() = 0;
};

}  // namespace refhist
