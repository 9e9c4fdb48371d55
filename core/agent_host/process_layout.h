// What the memory of a local process looks like to somebody who wants to map something into it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "port/process_memory.h"
#include "symbols/mapped_region.h"
#include "symbols/module_map.h"

namespace refhist {

class ProcessLayout {
 public:
  /// Reads /proc/PID. Throws Error.
  explicit ProcessLayout(long pid);

  /// Why nothing can be put into the process; empty when it can.
  [[nodiscard]] static std::string obstacle(long pid);
  /// Where `size` bytes are free, as far below or above `near` as `distance` where possible and never out of
  /// reach of a 32-bit jump from it. Above only when there is no room below.
  [[nodiscard]] std::optional<Address> gap_near(Address near, std::uint64_t size,
                                                std::uint64_t distance) const;
  /// Where groups of modules lie that are near each other: the executable, and the libraries.
  static std::vector<Address> groups(const std::vector<const LoadedModule*>& modules);
  /// A `syscall` instruction in the code that the kernel maps into every process.
  [[nodiscard]] std::optional<Address> system_call_instruction(const ProcessMemory& memory) const;
  /// Where `size` bytes are free, at `from` or above it and below the highest mappings.
  [[nodiscard]] std::optional<Address> first_free(Address from, std::uint64_t size) const;
  /// Below it nothing is mapped.
  [[nodiscard]] Address lowest() const { return regions_.front().begin; }
  /// The lowest mapped address of the file with this name; nothing when it is not mapped.
  [[nodiscard]] std::optional<Address> begin_of(const std::string& path) const;

 private:
  [[nodiscard]] bool free(Address begin, std::uint64_t size) const;

  long pid_;
  std::vector<MappedRegion> regions_;
};

}  // namespace refhist
