// The port of a session that has no debugger: there is no process, only a history.
#pragma once

#include "base/error.h"
#include "port/debugger_port.h"

namespace refhist {

class NoDebugger : public DebuggerPort {
 public:
  [[nodiscard]] std::string_view name() const override { return "refhist"; }
  ProcessInfo process() override { return {}; }
  bool read_memory(Address, void*, std::size_t) override { return false; }
  std::optional<Registers> registers(long) override { return std::nullopt; }
  std::vector<ThreadInfo> threads() override { return {}; }
  std::vector<ModuleInfo> modules() override { return {}; }
  std::vector<MemoryRegion> regions() override { return {}; }
  std::vector<Address> backtrace(long, std::size_t) override { return {}; }
  bool place_breakpoint(Address) override { return false; }
  void remove_breakpoint(Address) override {}
  bool breakpoint_alive(Address) override { return false; }
  Address evaluate(const std::string& expression) override {
    fail("{} is not an address, and there is no debugger to evaluate it: open the file in GDB or LLDB",
         expression);
  }
  void print(std::string_view) override {}
  bool interrupted() override { return false; }
};

}  // namespace refhist
