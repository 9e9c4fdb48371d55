// The code of a process on this machine, as the kernel has it: a debugger's breakpoints and jumps of ours
// show in it. What has been opened stays the same process, whatever becomes of its number.
#pragma once

#include <cstdint>
#include <span>

#include "base/open_file.h"
#include "base/types.h"
#include "port/code_bytes.h"

namespace refhist {

class CodeMemory {
 public:
  explicit CodeMemory(long pid);

  /// With errno where not: nobody else's process may be written to.
  [[nodiscard]] bool is_open() const { return file_.number() >= 0; }
  /// All of it, or false and errno.
  bool read(Address address, std::span<std::uint8_t> bytes) const;
  bool write(Address address, std::span<const std::uint8_t> bytes) const;
  [[nodiscard]] bool holds(Address address, std::span<const std::uint8_t> bytes) const;

 private:
  OpenFile file_;
};

}  // namespace refhist
