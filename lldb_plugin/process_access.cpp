#include "process_access.h"

#include <sys/uio.h>

#include <array>
#include <cstring>
#include <string_view>

#include "file_path.h"

namespace refhist {

bool has_core_file(lldb::SBProcess& process) {
  const char* plugin = process.GetPluginName();
  const std::string_view name = plugin == nullptr ? "" : plugin;
  return name.find("core") != std::string_view::npos || name == "minidump";
}

namespace {
// LLDB's event thread hears of a `continue` later than whoever has given it. Until then the process passes
// for stopped, but no thread can be asked any more.
bool goes_on_already(lldb::SBProcess& process) {
  return process.GetNumThreads() != 0 &&
         process.GetThreadAtIndex(0).GetStopReason() == lldb::eStopReasonInvalid;
}

ProcessState process_state(lldb::SBProcess& process) {
  if (!process.IsValid()) return ProcessState::none;
  switch (process.GetState()) {
    case lldb::eStateStopped:
    case lldb::eStateSuspended:
    case lldb::eStateCrashed:
      if (has_core_file(process)) return ProcessState::core;
      return goes_on_already(process) ? ProcessState::running : ProcessState::stopped;
    case lldb::eStateRunning:
    case lldb::eStateStepping:
    case lldb::eStateLaunching:
    case lldb::eStateAttaching:
      return ProcessState::running;
    case lldb::eStateExited:
      return ProcessState::exited;
    default:
      return ProcessState::none;
  }
}

bool read_local(lldb::pid_t pid, Address address, void* out, std::size_t size) {
  const iovec local{out, size};
  const iovec remote{reinterpret_cast<void*>(address), size};
  return process_vm_readv(static_cast<::pid_t>(pid), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

// A pid says little: the debug server may run on another machine or in another pid namespace. The process is
// the one that has the same bytes on top of a stack whose address was chosen at random.
bool same_stack(lldb::SBProcess& process) {
  lldb::SBFrame frame = process.GetThreadAtIndex(0).GetFrameAtIndex(0);
  if (!frame.IsValid()) return false;
  std::array<unsigned char, 64> seen{};
  std::array<unsigned char, 64> told{};
  const Address stack = frame.GetSP();
  lldb::SBError error;
  return read_local(process.GetProcessID(), stack, seen.data(), seen.size()) &&
         process.ReadMemory(stack, told.data(), told.size(), error) == told.size() && seen == told;
}
}  // namespace

bool ProcessAccess::local(lldb::SBTarget& target, lldb::SBProcess& process) {
  const lldb::pid_t pid = process.GetProcessID();
  const std::uint32_t id = process.GetUniqueID();
  if (pid == asked_pid_ && id == asked_process_) return local_;
  if (process.GetState() != lldb::eStateStopped) return false;
  const char* platform = target.GetPlatform().GetName();
  local_ = platform != nullptr && std::strcmp(platform, "host") == 0 && same_stack(process);
  asked_pid_ = pid;
  asked_process_ = id;
  return local_;
}

ProcessInfo ProcessAccess::info(lldb::SBTarget& target, lldb::SBProcess& process) {
  ProcessInfo info;
  info.executable = path_of(target.GetExecutable());
  info.state = process_state(process);
  if (info.state == ProcessState::stopped || info.state == ProcessState::running) {
    info.pid = static_cast<long>(process.GetProcessID());
    info.local = local(target, process);
  }
  return info;
}

bool ProcessAccess::read_memory(lldb::SBTarget& target, lldb::SBProcess& process, Address address, void* out,
                                std::size_t size) {
  if (!process.IsValid()) return false;
  if (!has_core_file(process) && local(target, process)) {
    return read_local(process.GetProcessID(), address, out, size);
  }
  lldb::SBError error;
  return process.ReadMemory(address, out, size, error) == size && error.Success();
}

}  // namespace refhist
