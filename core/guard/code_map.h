// The executable memory of a process, as /proc/PID/maps has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refhist::guard {

struct CodeRegion {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t inode = 0;
  bool shared = false;
  std::string path;

  [[nodiscard]] bool is_module() const { return !shared && path.starts_with('/'); }
  /// The agent's code, of which only its breakpoint's page is nameless.
  [[nodiscard]] bool is_agent() const { return shared && path.starts_with("/memfd:"); }
  [[nodiscard]] bool is_nameless() const { return !shared && path.empty(); }

  /// Pages that the process has for itself: somebody has written there. From /proc/PID/pagemap.
  [[nodiscard]] std::vector<std::uint64_t> own_pages(int pagemap) const;
  /// The file that is mapped, or less than 0 when it is not to be had any more.
  [[nodiscard]] int open_file(long pid) const;
};

/// `maps`: a descriptor of /proc/PID/maps.
[[nodiscard]] std::vector<CodeRegion> read_code_map(int maps);

}  // namespace refhist::guard
