// The tasks of a Linux kernel, read from the guest's memory: the debugger's threads are processors.
//
// A task goes by its pid. What has none of its own gets a negative number for each processor: the idle tasks
// behind the first one's, hard and soft interrupts.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/task_layout.h"
#include "port/task_view.h"

namespace refhist {

class KernelTasks final : public TaskView {
 public:
  /// `processors`: the debugger's threads, in the kernel's order.
  KernelTasks(TaskLayout layout, std::vector<long> processors)
      : layout_(std::move(layout)), processors_(std::move(processors)) {}

  /// What runs on the processor, whose registers these are: the number of a task or interrupt. The
  /// processor's own number where it cannot be told.
  long running(DebuggerPort& port, long processor, const Registers& registers);

  std::optional<Registers> registers(DebuggerPort& port, long task) override;
  [[nodiscard]] std::string name(long task) const override;
  bool lives(DebuggerPort& port, long task) override;
  [[nodiscard]] std::size_t processors() const override { return processors_.size(); }
  std::size_t stack_piece(Address address, std::size_t wanted) override;

  /// Another number when the kernel has been started again; 0 while it cannot be told.
  [[nodiscard]] std::uint64_t boot(DebuggerPort& port, Address init_task) const;

 private:
  struct Running {
    Address task = 0;
    std::uint32_t preempt_count = 0;
  };
  struct Seen {
    Address task = 0;  ///< its task_struct; 0: none of its own
    std::string name;
  };
  struct Facts {
    long pid = 0;
    Address stack = 0;
    std::string name;
  };

  [[nodiscard]] std::optional<Running> running_on(DebuggerPort& port, std::size_t cpu);
  [[nodiscard]] std::optional<Facts> facts(DebuggerPort& port, Address task) const;
  [[nodiscard]] std::optional<Address> area(DebuggerPort& port, std::size_t cpu);

  TaskLayout layout_;
  std::vector<long> processors_;
  std::vector<Address> areas_;           // per-CPU, as far as they are known for good
  std::unordered_map<long, Seen> seen_;  // by number
  Address last_piece_ = 0;
};

}  // namespace refhist
