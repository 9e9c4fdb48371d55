// A small debugger of our own for unit tests: a DebuggerPort over ptrace and /proc. It starts a program, runs
// it to a breakpoint or a signal with all its threads stopped, and lets the core look at it.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/debugger_port.h"
#include "symbols/module_map.h"

namespace refhist::test {

class PtracePort : public DebuggerPort {
 public:
  struct Options {
    bool randomize = false;  ///< addresses differ from run to run; debuggers switch this off
    bool local = true;       ///< process() says so; false makes the core ask the port for everything
    std::vector<std::string> environment;  ///< "NAME=VALUE", in addition
  };
  struct Stop {
    enum class Kind { breakpoint, signal, exited, killed };
    Kind kind = Kind::exited;
    long tid = 0;
    int detail = 0;       ///< signal number, or exit status
    Address address = 0;  ///< of the breakpoint
  };

  /// Starts the program, stopped at its very first instruction. Throws Error.
  explicit PtracePort(const std::vector<std::string>& command) : PtracePort(command, Options()) {}
  PtracePort(const std::vector<std::string>& command, Options options);
  /// Kills the program if it is still there.
  ~PtracePort() override;
  PtracePort(const PtracePort&) = delete;
  PtracePort& operator=(const PtracePort&) = delete;

  /// Runs all threads until one hits a breakpoint or gets a signal, or the process ends; then all are
  /// stopped. SIGSTOP (as from raise) is taken away from the program, other signals are delivered when it
  /// goes on.
  Stop go_on();
  /// Executes one instruction of one thread. Throws Error when anything else happens.
  void step(long tid);

  void write_registers(long tid, const Registers& registers);
  [[nodiscard]] const std::vector<std::string>& printed() const { return printed_; }
  void interrupt() { interrupted_ = true; }

  // DebuggerPort
  [[nodiscard]] std::string_view name() const override { return "ptrace"; }
  ProcessInfo process() override;
  bool read_memory(Address address, void* out, std::size_t size) override;
  bool write_memory(Address address, const void* data, std::size_t size) override;
  /// It stands no longer at the breakpoint that was reported.
  bool set_pc(long tid, Address address) override;
  bool set_registers(long tid, const Registers& registers) override;
  std::optional<Registers> registers(long tid) override;
  std::vector<ThreadInfo> threads() override;
  std::vector<ModuleInfo> modules() override;
  std::vector<MemoryRegion> regions() override;
  /// This debugger has no unwinder: only the innermost pc.
  std::vector<Address> backtrace(long tid, std::size_t limit) override;
  bool place_breakpoint(Address address) override;
  void remove_breakpoint(Address address) override;
  bool breakpoint_alive(Address address) override { return breakpoints_.contains(address); }
  /// Numbers only.
  Address evaluate(const std::string& expression) override;
  void print(std::string_view text) override { printed_.emplace_back(text); }
  bool interrupted() override { return interrupted_; }

 private:
  struct Thread {
    bool running = false;
    int deliver = 0;                   ///< signal for the next time it runs
    std::optional<Address> stands_at;  ///< breakpoint that was reported and must be stepped over
  };

  void launch(const std::vector<std::string>& command);
  [[noreturn]] void run_child(const std::vector<std::string>& command, int go) const;
  void resume(long tid);
  void stop_all();
  /// Waits for any thread and keeps its state; what is to be reported goes to `stops_`.
  void wait_for_event();
  void on_event(long tid, int status);
  void on_end(long tid, int status);
  void on_signal(long tid, Thread& thread, int signal);
  bool any_running() const;

  Options options_;
  std::string executable_;
  pid_t pid_ = 0;  // 0 once it has ended
  std::map<long, Thread> threads_;
  std::map<Address, unsigned char> breakpoints_;  // the bytes they replace
  std::deque<Stop> stops_;
  std::vector<std::string> printed_;
  bool interrupted_ = false;
};

/// Address in memory of the function, from the first module that has it. Throws Error.
Address function_address(const ModuleMap& modules, std::string_view name);
/// The same for a variable.
Address variable_address(const ModuleMap& modules, std::string_view name);

}  // namespace refhist::test
