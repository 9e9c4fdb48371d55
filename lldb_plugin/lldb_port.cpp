#include "lldb_port.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/printable.h"
#include "base/text.h"
#include "expression.h"
#include "file_path.h"
#include "hidden_name.h"
#include "memory_writer.h"
#include "program_calls.h"
#include "register_reader.h"
#include "write_line.h"

namespace refhist {

namespace {
std::optional<Address> load_bias(lldb::SBTarget& target, lldb::SBModule& module) {
  const std::size_t count = module.GetNumSections();
  for (std::size_t i = 0; i < count; ++i) {
    lldb::SBSection section = module.GetSectionAtIndex(i);
    const Address loaded = section.GetLoadAddress(target);
    if (loaded != LLDB_INVALID_ADDRESS) return loaded - section.GetFileAddress();
  }
  return std::nullopt;
}
}  // namespace

lldb::SBThread LldbPort::stopped_thread(long tid) {
  if (process_.GetState() != lldb::eStateStopped) return {};
  const auto id = static_cast<lldb::tid_t>(tid);
  if (thread_.IsValid() && thread_.GetThreadID() == id) return thread_;
  return process_.GetThreadByID(id);
}

bool LldbPort::write_memory(Address address, const void* bytes, std::size_t size) {
  return refhist::write_memory(target_, process_, address, bytes, size);
}

// Where a library was unloaded and comes back at the same address, LLDB's debug server takes its breakpoints
// for inserted though the code is new: they are switched off and on again.
bool LldbPort::place_breakpoint(Address address) {
  constexpr std::uint8_t kBreakpoint = 0xcc;
  if (!breakpoints_.place(target_, address)) return false;
  std::uint8_t there = kBreakpoint;
  if (!process().local || !read_memory(address, &there, sizeof there) || there == kBreakpoint) return true;
  breakpoints_.remove(address);
  return breakpoints_.place(target_, address) && read_memory(address, &there, sizeof there) &&
         there == kBreakpoint;
}

bool LldbPort::set_pc(long tid, Address address) {
  lldb::SBThread thread = stopped_thread(tid);
  return thread.IsValid() && thread.GetFrameAtIndex(0).SetPC(address);
}

bool LldbPort::set_registers(long tid, const Registers& registers) {
  lldb::SBThread thread = stopped_thread(tid);
  return thread.IsValid() && write_registers(debugger_, thread, registers);
}

bool LldbPort::can_run_system_calls(long tid) {
  // A thread that was stopped inside a system call would find it interrupted, or a signal that it waits for
  // gone.
  constexpr std::array<std::uint8_t, 2> kSyscall{0x0f, 0x05};
  std::array<std::uint8_t, 2> before{};
  lldb::SBThread thread = stopped_thread(tid);
  lldb::SBError error;
  const lldb::addr_t pc = thread.GetFrameAtIndex(0).GetPC();
  return thread.IsValid() &&
         process_.ReadMemory(pc - before.size(), before.data(), before.size(), error) == before.size() &&
         before != kSyscall;
}

bool LldbPort::run_system_calls(long tid, std::span<SystemCall> calls) {
  lldb::SBThread in = stopped_thread(tid);
  return refhist::run_system_calls(process_, in, calls);
}

std::optional<Registers> LldbPort::registers(long tid) {
  lldb::SBThread of = stopped_thread(tid);
  return read_registers(debugger_, of);
}

std::vector<Address> LldbPort::vector_words(long tid) {
  lldb::SBThread of = stopped_thread(tid);
  return read_vector_words(of);
}

std::vector<ThreadInfo> LldbPort::threads() {
  std::vector<ThreadInfo> threads;
  const std::uint32_t count = process_.GetNumThreads();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBThread thread = process_.GetThreadAtIndex(i);
    const char* name = thread.GetName();
    threads.push_back({static_cast<long>(thread.GetThreadID()), name == nullptr ? "" : name});
  }
  return threads;
}

long LldbPort::selected_thread() {
  lldb::SBThread thread = process_.GetSelectedThread();
  return thread.IsValid() ? static_cast<long>(thread.GetThreadID()) : 0;
}

std::vector<ModuleInfo> LldbPort::modules() {
  std::vector<ModuleInfo> modules;
  const std::uint32_t count = target_.GetNumModules();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBModule module = target_.GetModuleAtIndex(i);
    const std::string path = path_of(module.GetFileSpec());
    const auto bias = load_bias(target_, module);
    // "[vdso]" is no file.
    if (bias && !path.empty() && path.front() != '[') modules.push_back({path, *bias});
  }
  return modules;
}

std::vector<MemoryRegion> LldbPort::regions() {
  std::vector<MemoryRegion> regions;
  lldb::SBMemoryRegionInfoList list = process_.GetMemoryRegions();
  for (std::uint32_t i = 0; i < list.GetSize(); ++i) {
    lldb::SBMemoryRegionInfo info;
    if (!list.GetMemoryRegionAtIndex(i, info) || !info.IsMapped()) continue;
    MemoryRegion region;
    region.begin = info.GetRegionBase();
    region.end = info.GetRegionEnd();
    region.readable = info.IsReadable();
    region.writable = info.IsWritable();
    region.executable = info.IsExecutable();
    if (const char* name = info.GetName()) region.path = name;
    regions.push_back(std::move(region));
  }
  return regions;
}

std::vector<Address> LldbPort::backtrace(long tid, std::size_t limit) {
  std::vector<Address> pcs;
  lldb::SBThread of = stopped_thread(tid);
  for (std::uint32_t i = 0; pcs.size() < limit; ++i) {
    lldb::SBFrame frame = of.GetFrameAtIndex(i);
    if (!frame.IsValid()) break;
    if (!frame.IsInlined())
      pcs.push_back(frame.GetPC());  // inlined frames share the pc of the one that follows
  }
  return pcs;
}

std::vector<Address> LldbPort::user_breakpoints() {
  std::vector<Address> addresses;
  const std::uint32_t count = target_.GetNumBreakpoints();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBBreakpoint breakpoint = target_.GetBreakpointAtIndex(i);
    if (is_hidden(breakpoint)) continue;
    for (std::uint32_t j = 0; j < breakpoint.GetNumLocations(); ++j) {
      addresses.push_back(breakpoint.GetLocationAtIndex(j).GetLoadAddress());
    }
  }
  return addresses;
}

void LldbPort::show_code(const std::string& path, Address bias) {
  if (path.empty()) {
    for (std::uint32_t i = target_.GetNumModules(); i-- > 0;) {
      lldb::SBModule module = target_.GetModuleAtIndex(i);
      const auto loaded = load_bias(target_, module);
      if (!loaded || *loaded != bias) continue;
      const std::string file = path_of(module.GetFileSpec());
      target_.RemoveModule(module);
      if (file.find("/refhist-code-") != std::string::npos) unlink(file.c_str());
    }
    return;
  }
  lldb::SBModule module = target_.AddModule(path.c_str(), nullptr, nullptr);
  if (module.IsValid()) target_.SetModuleLoadAddress(module, static_cast<std::int64_t>(bias));
}

std::optional<std::string> LldbPort::environment(const std::string& name) {
  lldb::SBEnvironment environment = target_.GetEnvironment();
  const char* value = environment.Get(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Not through SBEnvironment, which would hold all that the program inherits from the debugger.
bool LldbPort::set_environment(const std::string& name, const std::optional<std::string>& value) {
  const std::string line =
      value ? fmt::format("settings append target.env-vars {}", quoted_word(name + "=" + *value))
            : fmt::format("settings remove target.env-vars {}", name);
  lldb::SBCommandReturnObject result;
  debugger_.GetCommandInterpreter().HandleCommand(line.c_str(), result);
  return result.Succeeded();
}

// LLDB 19's server resumes one thread after the other, and gives the program up when the first has ended it
// meanwhile.
void LldbPort::let_end(long tid) {
  const std::uint32_t count = process_.GetNumThreads();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBThread thread = process_.GetThreadAtIndex(i);
    if (static_cast<long>(thread.GetThreadID()) != tid) thread.Suspend();
  }
}

Address LldbPort::evaluate(const std::string& expression) {
  has_evaluated_ = true;
  return evaluate_address(target_, process_, expression);
}

void LldbPort::print(std::string_view text) {
  write_line(is_lldb_vscode() ? lldb::SBFile(stderr, false) : debugger_.GetOutputFile(), printable(text));
}

bool LldbPort::interrupted() {
#if REFHIST_LLDB_VERSION >= 17
  if (debugger_.InterruptRequested()) return true;
#endif
  return debugger_.GetCommandInterpreter().WasInterrupted();
}

}  // namespace refhist
