#include "kernel/kernel.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "kernel/kernel_file.h"
#include "kernel/kernel_search.h"
#include "symbols/elf_file.h"

namespace refhist {

namespace {
constexpr std::size_t kVendor = 6;  // of the DMI fields that the kernel keeps: the system's vendor
constexpr std::size_t kText = 32;

std::vector<long> processors(DebuggerPort& port) {
  std::vector<long> tids;
  for (const ThreadInfo& thread : port.threads()) tids.push_back(thread.tid);
  std::sort(tids.begin(), tids.end());  // GDB has the newest first
  return tids;
}
}  // namespace

Kernel::Kernel(DebuggerPort& port, const Module& module, Address told)
    : path_(module.path()),
      bias_(KernelSearch(port, module).bias(told)),
      release_(release_in(banner_of_file(module))),
      init_task_(module.data_symbol("init_task").value_or(0) + bias_),
      tasks_(TaskLayout::read(module, bias_), processors(port)) {
  own_debug_info_ = !module.files().empty() && module.files().front()->has_dwarf();
  no_tasks_ = TaskLayout::read(module, bias_).why_not;
  if (const auto fields = module.data_symbol("dmi_ident"))
    vendor_ = *fields + bias_ + kVendor * sizeof(Address);
  machine_ = vendor(port);
  for (FileRange end : refhist::stack_ends(module))
    stack_ends_.push_back({end.begin + bias_, end.end + bias_});
  boot_ = tasks_.boot(port, init_task_);
}

// What the firmware calls the machine, once the kernel has asked it.
std::string Kernel::vendor(DebuggerPort& port) const {
  Address at = 0;
  char text[kText] = {};
  if (vendor_ == 0 || !port.read_memory(vendor_, &at, sizeof at) || at == 0) return {};
  if (!port.read_memory(at, text, sizeof text - 1)) return {};
  return text;
}

std::string Kernel::title() const {
  const std::string where = machine_.empty() ? "behind the debugger's remote port" : "in " + machine_;
  return fmt::format("Linux {} {}, {}", release_, where, plural(tasks_.processors(), "CPU"));
}

std::vector<std::string> Kernel::notes(DebuggerPort& port) const {
  std::vector<std::string> notes;
  if (bias_ != 0) {
    const std::string own = port.name() == "lldb"
                                ? fmt::format("target modules load --file {} --slide {:#x}", path_, bias_)
                                : fmt::format("symbol-file -o {:#x} {}", bias_, path_);
    notes.push_back(fmt::format(
        "KASLR has moved it by {:#x}, which refhist knows; for the debugger's own symbols: {}", bias_, own));
  }
  if (own_debug_info_ && port.name() == "lldb")
    notes.push_back(
        fmt::format("LLDB needs minutes at the first stop in a function that has a cold part far away: give "
                    "it a copy of {} that "
                    "objcopy --strip-debug has made, and refhist finds this one beside it",
                    path_));
  if (tasks_.processors() > 1 && port.name() == "lldb")
    notes.emplace_back("LLDB misses some of the hits on several CPUs: boot with one, or use GDB");
  if (!no_tasks_.empty()) notes.push_back("threads are processors, not tasks: " + no_tasks_);
  return notes;
}

bool Kernel::started_again(DebuggerPort& port) {
  if (machine_.empty()) machine_ = vendor(port);
  const std::uint64_t now = tasks_.boot(port, init_task_);
  if (boot_ == 0) boot_ = now;
  return now != 0 && now != boot_;
}

}  // namespace refhist
