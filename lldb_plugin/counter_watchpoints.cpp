#include "counter_watchpoints.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <utility>

namespace refhist {

namespace {

/// Where this plugin was loaded from.
std::string own_path() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&own_path), &info) != 0;
  return found && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

std::string CounterWatchpoints::call_back(lldb::SBDebugger& debugger, lldb::SBWatchpoint& watchpoint) {
  const std::string body = fmt::format(
      "import ctypes; return ctypes.CDLL('{}').refhist_lldb_changed(ctypes.c_uint64({}), "
      "ctypes.c_uint64(frame.GetThread().GetProcess().GetUniqueID()), "
      "ctypes.c_int64(frame.GetThread().GetThreadID()), ctypes.c_uint64({:#x})) != 0",
      own_path(), debugger.GetID(), watchpoint.GetWatchAddress());
  lldb::SBCommandReturnObject result;
  const std::string command =
      fmt::format("watchpoint command add -s python -o \"{}\" {}", body, watchpoint.GetID());
  debugger.GetCommandInterpreter().HandleCommand(command.c_str(), result);
  if (result.Succeeded()) return {};
  const char* error = result.GetError();
  std::string reason = error == nullptr ? "" : error;
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  return reason.empty() ? "LLDB has no Python to report changes with" : reason;
}

std::string CounterWatchpoints::place(lldb::SBDebugger& debugger, lldb::SBTarget& target, Address address,
                                      unsigned size) {
  if (!telling_) delete_retired(target);
  lldb::SBError error;
  lldb::SBWatchpoint watchpoint = target.WatchAddress(address, size, false, true, error);
  if (error.Fail() || !watchpoint.IsValid())
    return error.GetCString() == nullptr ? "LLDB refused" : error.GetCString();
  const std::string reason = call_back(debugger, watchpoint);
  if (!reason.empty()) {
    target.DeleteWatchpoint(watchpoint.GetID());
    return reason;
  }
  placed_[address] = watchpoint.GetID();
  return {};
}

void CounterWatchpoints::delete_retired(lldb::SBTarget& target) {
  for (const lldb::watch_id_t id : std::exchange(retired_, {})) target.DeleteWatchpoint(id);
}

void CounterWatchpoints::remove(lldb::SBTarget& target, Address address) {
  const auto found = placed_.find(address);
  if (found == placed_.end()) return;
  target.FindWatchpointByID(found->second).SetEnabled(false);
  retired_.push_back(found->second);
  placed_.erase(found);
  if (!telling_) delete_retired(target);
}

bool CounterWatchpoints::alive(lldb::SBTarget& target, Address address) {
  const auto found = placed_.find(address);
  if (found == placed_.end()) return false;
  lldb::SBWatchpoint watchpoint = target.FindWatchpointByID(found->second);
  return watchpoint.IsValid() && watchpoint.IsEnabled();
}

void CounterWatchpoints::clear(lldb::SBTarget& target) {
  for (const auto& [address, id] : std::exchange(placed_, {})) retired_.push_back(id);
  delete_retired(target);
}

}  // namespace refhist
