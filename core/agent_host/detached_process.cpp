#include "agent_host/detached_process.h"

#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "agent_host/stopped_process.h"
#include "port/code_memory.h"

namespace refhist {

namespace {

// A zombie has none.
bool has_memory(long pid) {
  std::ifstream pages(fmt::format("/proc/{}/statm", pid));
  unsigned long count = 0;
  return pages >> count && count != 0;
}

constexpr unsigned kLooks = 50;
constexpr std::chrono::milliseconds kBetween{1};  // a thread leaves the agent within microseconds

bool in_use(const StoppedProcess& stopped, const LoadedAgent& agent) {
  return agent.area->in_use() ||
         std::any_of(agent.pieces.begin(), agent.pieces.end(),
                     [&](const CodePiece& piece) { return stopped.stands_in(piece.address(), piece.end()); });
}

SystemCall unmap(Address begin, Address end) { return {SYS_munmap, {begin, end - begin, 0, 0, 0, 0}, 0}; }

std::string unmap_all(const StoppedProcess& stopped, const LoadedAgent& agent) {
  const auto [begin, end] = agent.data.front();
  std::vector<SystemCall> calls{unmap(begin + agent.area->retire(), end)};
  for (const CodePiece& piece : agent.pieces) {
    const Address used = piece.address() + (piece.used() + kPage - 1) / kPage * kPage;
    if (used < piece.end()) calls.push_back(unmap(used, piece.end()));
  }
  if (!stopped.call(agent.system_call, calls)) return "none of its threads can make a system call";
  const auto failed =
      std::find_if(calls.begin(), calls.end(), [](const SystemCall& call) { return call.result < 0; });
  return failed == calls.end() ? "" : std::strerror(static_cast<int>(-failed->result));
}

}  // namespace

std::string write_code_of_detached(long pid, const std::vector<CodeBytes>& code) {
  const StoppedProcess stopped(pid);
  if (!stopped.any()) return has_memory(pid) ? stopped.why_not() : "";
  const CodeMemory memory(pid);
  if (!memory.is_open()) return std::strerror(errno);
  std::string why_not;
  for (const CodeBytes& bytes : code) {
    if (!memory.holds(bytes.address, bytes.expected)) continue;  // unmapped meanwhile, or somebody else's
    if (!memory.write(bytes.address, bytes.wanted)) why_not = std::strerror(errno);
  }
  return why_not;
}

std::string release_memory_of_detached(long pid, const LoadedAgent& agent) {
  if (!agent.area->confined().is(0)) return "it filters its system calls";
  for (unsigned i = 0; i < kLooks; ++i) {
    {
      const StoppedProcess stopped(pid);
      if (!stopped.any()) return has_memory(pid) ? stopped.why_not() : "";
      if (!in_use(stopped, agent)) return unmap_all(stopped, agent);
    }
    std::this_thread::sleep_for(kBetween);
  }
  return "one of its threads has not left the agent";
}

}  // namespace refhist
