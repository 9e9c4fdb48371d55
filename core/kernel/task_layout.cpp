#include "kernel/task_layout.h"

#include <fmt/core.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "base/error.h"
#include "kernel/kernel_file.h"

namespace refhist {

namespace {
constexpr const char* kTask = "struct task_struct";
constexpr const char* kHot = "struct pcpu_hot";

/// In a per-CPU area: from its beginning, or an address of the image, as newer kernels have it.
Address per_cpu(Address symbol, Address bias) { return symbol >= kKernelHalf ? symbol + bias : symbol; }

/// A variable of its own, or since 6.2 a member of `pcpu_hot`.
std::optional<Address> per_cpu_variable(const Module& module, Address bias, const char* name,
                                        const char* member) {
  if (const auto alone = module.data_symbol(name)) return per_cpu(*alone, bias);
  const auto hot = module.data_symbol("pcpu_hot");
  const auto place = hot ? module.member(kHot, member) : std::nullopt;
  return place ? std::optional(per_cpu(*hot, bias) + place->offset) : std::nullopt;
}
}  // namespace

TaskLayout TaskLayout::read(const Module& module, Address bias) {
  TaskLayout layout;
  const auto offsets = module.data_symbol("__per_cpu_offset");
  const auto current = per_cpu_variable(module, bias, "current_task", "current_task");
  const auto count = per_cpu_variable(module, bias, "__preempt_count", "preempt_count");
  if (!offsets || !current || !count) {
    layout.why_not = "the vmlinux has no symbol for the task that runs";
    return layout;
  }
  layout.per_cpu_offsets = *offsets + bias;
  layout.current = *current;
  layout.preempt_count = *count;
  const std::initializer_list<std::pair<const char*, MemberPlace*>> members = {
      {"pid", &layout.pid},
      {"comm", &layout.name},
      {"stack", &layout.stack},
      {"thread.sp", &layout.stack_pointer},
      {"stack_canary", &layout.canary}};
  for (const auto& [path, place] : members) {
    try {
      const auto found = module.member(kTask, path);
      if (!found) fail("the vmlinux has no debug information");
      *place = *found;
    } catch (const Error& error) {
      if (place == &layout.canary) continue;  // a kernel without them
      layout.why_not = error.what();
      return layout;
    }
  }
  return layout;
}

}  // namespace refhist
