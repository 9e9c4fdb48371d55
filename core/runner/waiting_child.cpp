#include "runner/waiting_child.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/process_file.h"
#include "port/code_memory.h"

namespace refhist {

namespace {

constexpr std::array<std::uint8_t, 2> kJumpToItself{0xeb, 0xfe};

}  // namespace

bool put_code_back(const WaitingChild& child, int process) {
  std::vector<std::uint8_t> code;
  for (std::size_t i = 0; i + 1 < child.code.size(); i += 2)
    code.push_back(static_cast<std::uint8_t>(std::stoi(child.code.substr(i, 2), nullptr, 16)));
  const CodeMemory memory(child.pid);
  if (process_has_ended(process)) return false;  // the number may have meant another one when it was opened
  return memory.holds(child.pc, kJumpToItself) && memory.write(child.pc, code);
}

WaitingChild make_wait(long pid, long parent, Address pc) {
  const CodeMemory memory(pid);
  std::array<std::uint8_t, kJumpToItself.size()> code{};
  if (!memory.read(pc, code) || !memory.write(pc, kJumpToItself))
    fail("its code cannot be written: {}", std::strerror(errno));
  WaitingChild child{pid, parent, pc, {}};
  for (const std::uint8_t byte : code) child.code += fmt::format("{:02x}", byte);
  return child;
}

}  // namespace refhist
