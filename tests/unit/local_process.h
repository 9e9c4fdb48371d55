// A process of this machine without a debugger: what the module map and the unwinder need of the port.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "port/debugger_port.h"

namespace refhist_test {

using refhist::Address;

class LocalProcess : public refhist::DebuggerPort {
 public:
  explicit LocalProcess(refhist::ProcessInfo process) : process_(std::move(process)) {}
  std::size_t read_some(Address address, void* out, std::size_t size) {
    iovec here{out, size};
    iovec there{reinterpret_cast<void*>(address), size};  // NOLINT: an address of another process
    const ssize_t count = process_vm_readv(static_cast<pid_t>(process_.pid), &here, 1, &there, 1, 0);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  std::string_view name() const override { return "test"; }
  refhist::ProcessInfo process() override { return process_; }
  bool read_memory(Address address, void* out, std::size_t size) override {
    return read_some(address, out, size) == size;
  }
  std::optional<refhist::Registers> registers(long) override { return std::nullopt; }
  std::vector<refhist::ThreadInfo> threads() override { return {}; }
  std::vector<refhist::ModuleInfo> modules() override { return modules_; }
  std::vector<refhist::MemoryRegion> regions() override { return {}; }
  std::vector<Address> backtrace(long, std::size_t) override { return {}; }
  bool place_breakpoint(Address) override { return false; }
  void remove_breakpoint(Address) override {}
  bool breakpoint_alive(Address) override { return false; }
  Address evaluate(const std::string&) override { return 0; }
  void print(std::string_view) override {}
  bool interrupted() override { return false; }

  std::vector<refhist::ModuleInfo> modules_;

 private:
  refhist::ProcessInfo process_;
};

}  // namespace refhist_test
