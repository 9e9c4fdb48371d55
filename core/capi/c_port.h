// A DebuggerPort over the callbacks of the C ABI. Made anew for each call: it keeps nothing.
#pragma once

#include "port/debugger_port.h"
#include "refhist/refhist.h"

namespace refhist {

class CPort final : public DebuggerPort {
 public:
  /// `callbacks` must be complete (every member set) and outlive this object.
  explicit CPort(const rh_port& callbacks) : callbacks_(callbacks) {}

  [[nodiscard]] std::string_view name() const override;
  ProcessInfo process() override;
  bool read_memory(Address address, void* out, std::size_t size) override;
  bool write_memory(Address address, const void* bytes, std::size_t size) override;
  bool set_pc(long tid, Address address) override;
  bool set_registers(long tid, const Registers& registers) override;
  std::optional<Registers> registers(long tid) override;
  std::vector<Address> vector_words(long tid) override;
  std::vector<ThreadInfo> threads() override;
  long selected_thread() override;
  std::vector<ModuleInfo> modules() override;
  std::vector<MemoryRegion> regions() override;
  std::vector<Address> backtrace(long tid, std::size_t limit) override;
  bool place_breakpoint(Address address) override;
  void remove_breakpoint(Address address) override;
  bool breakpoint_alive(Address address) override;
  std::vector<Address> user_breakpoints() override;
  void show_code(const std::string& path, Address bias) override;
  [[nodiscard]] bool can_catch_raw_exit() const override;
  std::string place_watchpoint(Address address, unsigned size) override;
  void remove_watchpoint(Address address) override;
  bool watchpoint_alive(Address address) override;
  bool catch_raw_exit(bool on) override;
  bool raw_exit_caught() override;
  bool expect_halts() override;
  void let_end(long tid) override;
  std::optional<bool> is_hit_again(Address address) override;
  std::optional<std::string> environment(const std::string& name) override;
  bool set_environment(const std::string& name, const std::optional<std::string>& value) override;
  Address evaluate(const std::string& expression) override;
  void print(std::string_view text) override;
  bool interrupted() override;

 private:
  const rh_port& callbacks_;
};

}  // namespace refhist
