// What the core asks of a debugger, asked of LLDB. Made for one call into the core, on the stack.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>
#include <vector>

#include "counter_watchpoints.h"
#include "host_program.h"
#include "port/debugger_port.h"
#include "process_access.h"
#include "site_breakpoints.h"

namespace refhist {

class LldbPort : public DebuggerPort {
 public:
  LldbPort(const lldb::SBDebugger& debugger, const lldb::SBTarget& target, ProcessAccess& access,
           SiteBreakpoints& breakpoints, CounterWatchpoints& watchpoints)
      : debugger_(debugger),
        target_(target),
        access_(access),
        breakpoints_(breakpoints),
        watchpoints_(watchpoints) {
    process_ = target_.GetProcess();
  }
  /// For a breakpoint hit: LLDB hands over the process and the thread.
  LldbPort(const lldb::SBDebugger& debugger, const lldb::SBTarget& target, const lldb::SBProcess& process,
           const lldb::SBThread& thread, ProcessAccess& access, SiteBreakpoints& breakpoints,
           CounterWatchpoints& watchpoints)
      : debugger_(debugger),
        target_(target),
        process_(process),
        thread_(thread),
        access_(access),
        breakpoints_(breakpoints),
        watchpoints_(watchpoints) {}

  [[nodiscard]] std::string_view name() const override { return "lldb"; }
  ProcessInfo process() override { return access_.info(target_, process_); }

  bool read_memory(Address address, void* out, std::size_t size) override {
    return access_.read_memory(target_, process_, address, out, size);
  }
  bool write_memory(Address address, const void* bytes, std::size_t size) override;
  bool set_pc(long tid, Address address) override;
  bool set_registers(long tid, const Registers& registers) override;
  bool can_run_system_calls(long tid) override;
  bool run_system_calls(long tid, std::span<SystemCall> calls) override;
  std::optional<Registers> registers(long tid) override;
  std::vector<Address> vector_words(long tid) override;
  std::vector<ThreadInfo> threads() override;
  long selected_thread() override;
  std::vector<ModuleInfo> modules() override;
  std::vector<MemoryRegion> regions() override;
  std::vector<Address> backtrace(long tid, std::size_t limit) override;

  bool place_breakpoint(Address address) override;
  void remove_breakpoint(Address address) override { breakpoints_.remove(address); }
  /// LLDB 19 takes a thread that has stepped onto the second for one that the user wants to see.
  [[nodiscard]] bool can_stop_behind() const override { return false; }
  [[nodiscard]] bool can_step_past_breakpoints() const override { return false; }
  [[nodiscard]] bool tells_of_steps() const override { return !is_lldb_dap() && !is_lldb_vscode(); }
  [[nodiscard]] PassedLine passed_line() const override { return PassedLine::zero; }
  bool breakpoint_alive(Address address) override { return breakpoints_.alive(address); }

  std::string place_watchpoint(Address address, unsigned size) override {
    return watchpoints_.place(debugger_, target_, address, size);
  }
  void remove_watchpoint(Address address) override { watchpoints_.remove(target_, address); }
  bool watchpoint_alive(Address address) override { return watchpoints_.alive(target_, address); }

  std::vector<Address> user_breakpoints() override;
  void show_code(const std::string& path, Address bias) override;
  void let_end(long tid) override;
  std::optional<std::string> environment(const std::string& name) override;
  bool set_environment(const std::string& name, const std::optional<std::string>& value) override;
  Address evaluate(const std::string& expression) override;
  /// True when LLDB's compiler may have been at work in the program's memory.
  [[nodiscard]] bool has_evaluated() const { return has_evaluated_; }

  void print(std::string_view text) override;
  bool interrupted() override;

 private:
  /// Invalid unless the process is stopped: what a running thread had before is of no use.
  lldb::SBThread stopped_thread(long tid);

  lldb::SBDebugger debugger_;
  lldb::SBTarget target_;
  lldb::SBProcess process_;
  lldb::SBThread thread_;  // the one that hit a breakpoint, if any
  bool has_evaluated_ = false;
  ProcessAccess& access_;
  SiteBreakpoints& breakpoints_;
  CounterWatchpoints& watchpoints_;
};

}  // namespace refhist
