#include "session/fallback_sites.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>

namespace refhist {

std::vector<SiteId> FallbackSites::sites() const {
  std::vector<SiteId> ids;
  for (const auto& [id, threads] : sites_) ids.push_back(id);
  return ids;
}

void FallbackSites::leave(SiteId site, long tid) {
  const auto found = sites_.find(site);
  if (found != sites_.end()) found->second.erase(tid);
}

bool FallbackSites::empty(SiteId site, const ProgramAccess& access, long pid) {
  const auto found = sites_.find(site);
  if (found == sites_.end()) return false;
  std::erase_if(found->second,
                [&](const auto& thread) { return has_left(access, pid, thread.first, thread.second); });
  return found->second.empty();
}

bool FallbackSites::has_left(const ProgramAccess& access, long pid, long tid, Address sp) {
  if (!access.thread_lives(tid)) return true;
  if (const auto registers = access.registers(tid)) return registers->sp() > sp;
  // "running", or for a thread that waits in a system call: number, arguments, stack pointer, pc.
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  long number = -1;
  if (!(file >> number) || number < 0) return false;
  std::string word;
  constexpr int kArguments = 6;
  for (int i = 0; i <= kArguments; ++i) file >> word;
  return file && std::stoull(word, nullptr, 0) > sp;
}

}  // namespace refhist
