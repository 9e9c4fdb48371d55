#include "events/program_access.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/task_status.h"
#include "port/task_view.h"
#include "port/traced_registers.h"

namespace refhist {

namespace {
/// False for a main thread that has ended before the others as well: the kernel keeps it as a zombie.
bool lives_here(long pid, long tid) {
  const std::unique_ptr<FILE, int (*)(FILE*)> stat(
      fopen(fmt::format("/proc/{}/task/{}/stat", pid, tid).c_str(), "re"), fclose);
  char line[512] = {};
  if (!stat || fgets(line, sizeof line, stat.get()) == nullptr) return false;
  const char* name_end = strrchr(line, ')');
  return name_end == nullptr || strchr("ZX", name_end[2]) == nullptr;
}
}  // namespace

std::optional<Registers> ProgramAccess::registers(long tid) const {
  if (process_.tasks != nullptr) return process_.tasks->registers(port_, tid);
  if (tracer_here_) {
    if (const auto registers = traced_registers(tid)) return registers;
  }
  return port_.registers(tid);
}

std::string ProgramAccess::thread_name(long tid, ThreadNames& names) const {
  if (process_.tasks != nullptr) return process_.tasks->name(tid);
  if (process_.local) {
    if (auto name = names.name(process_.pid, tid)) return *std::move(name);
  }
  for (const ThreadInfo& thread : port_.threads()) {
    if (thread.tid == tid) return thread.name;
  }
  return {};
}

std::vector<long> ProgramAccess::threads() const {
  std::vector<long> tids;
  if (process_.tasks != nullptr) {
    tids.resize(process_.tasks->processors());
    return tids;
  }
  for (const ThreadInfo& thread : port_.threads()) tids.push_back(thread.tid);
  return tids;
}

bool ProgramAccess::thread_lives(long tid) const {
  if (process_.tasks != nullptr) return process_.tasks->lives(port_, tid);
  if (process_.local) return lives_here(process_.pid, tid);
  const std::vector<ThreadInfo> threads = port_.threads();
  return std::any_of(threads.begin(), threads.end(),
                     [&](const ThreadInfo& thread) { return thread.tid == tid; });
}

std::size_t ProgramAccess::read_memory(Address address, void* out, std::size_t size, bool once) const {
  if (once && process_.tasks != nullptr) size = process_.tasks->stack_piece(address, size);
  return once ? memory_.read_once(address, out, size) : memory_.read(address, out, size);
}

Count ProgramAccess::read_count(const MemberPlace& place, const CounterSpec& spec, Address object) const {
  std::uint64_t raw = 0;
  if (place.size == 0 || place.size > sizeof raw) return std::nullopt;
  if (memory_.read(object + place.offset, &raw, place.size) != place.size) return std::nullopt;
  return count_from(raw, place, spec);
}

bool ProgramAccess::is_tracer(long pid) { return task_status(pid, "TracerPid") == std::to_string(gettid()); }

}  // namespace refhist
