#include "own_code.h"

#include <set>
#include <utility>

#include "memory_writer.h"
#include "port/code_memory.h"

namespace refhist {

std::vector<CodeBytes> cache_own_code(lldb::SBTarget& target, lldb::SBProcess& process,
                                      std::vector<CodeBytes> covered) {
  const CodeMemory memory(static_cast<long>(process.GetProcessID()));
  if (!memory.is_open()) return {};
  std::set<lldb::addr_t> places;
  for (const CodeBytes& code : covered) {
    for (std::size_t i = 0; i < code.wanted.size(); ++i) places.insert(code.address + i);
  }
  const BreakpointsAside aside(target, [&](lldb::addr_t address) { return places.contains(address); });
  std::erase_if(covered, [&](const CodeBytes& code) { return !memory.holds(code.address, code.expected); });
  lldb::SBError error;
  for (const CodeBytes& code : covered)  // LLDB forgets what it has read there
    process.WriteMemory(code.address, code.wanted.data(), code.wanted.size(), error);
  for (const CodeBytes& code : covered) {
    std::vector<std::uint8_t> read(code.wanted.size());
    process.ReadMemory(code.address, read.data(), read.size(), error);
  }
  for (const CodeBytes& code : covered) {
    if (!memory.write(code.address, code.expected))
      process.WriteMemory(code.address, code.expected.data(), code.expected.size(), error);
  }
  return covered;
}

void forget_own_code(lldb::SBProcess& process, const std::vector<CodeBytes>& covered) {
  const CodeMemory memory(static_cast<long>(process.GetProcessID()));
  lldb::SBError error;
  for (const CodeBytes& code : covered) {
    if (!memory.holds(code.address, code.expected)) continue;  // it is no jump any more
    const std::size_t last = code.expected.size() - 1;         // where no breakpoint is
    process.WriteMemory(code.address + last, &code.expected[last], 1, error);
  }
}

}  // namespace refhist
