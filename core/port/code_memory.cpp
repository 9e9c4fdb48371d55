#include "port/code_memory.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace refhist {

CodeMemory::CodeMemory(long pid)
    : file_(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC)) {}

bool CodeMemory::read(Address address, std::span<std::uint8_t> bytes) const {
  return pread(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(bytes.size());
}

bool CodeMemory::write(Address address, std::span<const std::uint8_t> bytes) const {
  return pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(bytes.size());
}

bool CodeMemory::holds(Address address, std::span<const std::uint8_t> bytes) const {
  std::vector<std::uint8_t> there(bytes.size());
  return read(address, there) && std::equal(there.begin(), there.end(), bytes.begin());
}

}  // namespace refhist
