#include "lldb_port.h"

#include "expression.h"
#include "file_path.h"
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

std::optional<Registers> LldbPort::registers(long tid) {
  lldb::SBThread of = stopped_thread(tid);
  return read_registers(debugger_, of);
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

Address LldbPort::evaluate(const std::string& expression) {
  has_evaluated_ = true;
  return evaluate_address(target_, process_, expression);
}

void LldbPort::print(std::string_view text) { write_line(debugger_.GetOutputFile(), text); }

bool LldbPort::interrupted() {
#if REFHIST_LLDB_VERSION >= 17
  if (debugger_.InterruptRequested()) return true;
#endif
  return debugger_.GetCommandInterpreter().WasInterrupted();
}

}  // namespace refhist
