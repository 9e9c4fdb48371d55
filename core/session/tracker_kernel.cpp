// What is debugged may be a kernel, through the remote port of what runs it.
#include "base/error.h"
#include "kernel/kernel_file.h"
#include "session/tracker.h"

namespace refhist {

Address Tracker::place_module(DebuggerPort& port, const Module& module, Address told) {
  state_.no_kernel.clear();
  if (!is_kernel(module)) return told;
  if (state_.kernel) return state_.kernel->bias();
  try {
    state_.kernel = std::make_unique<Kernel>(port, module, told);
  } catch (const Error& error) {
    state_.no_kernel = error.what();
    throw;
  }
  state_.process.tasks = &state_.kernel->tasks();
  state_.unwinder.set_ends(state_.kernel->stack_ends());
  for (TrackedFamily& family : state_.families) family.backend = Backend::breakpoint;
  return state_.kernel->bias();
}

void Tracker::look_for_kernel(DebuggerPort& port) {
  if (state_.alive || state_.opened) return;
  const ProcessInfo process = port.process();
  if (process.state != ProcessState::stopped || process.local) return;
  state_.process.tasks = nullptr;
  state_.kernel.reset();
  state_.no_kernel.clear();
  state_.modules.update(port);
}

}  // namespace refhist
