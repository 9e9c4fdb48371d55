// The code of a program whose debugger was killed: takes out the breakpoints that were left in it.
//
// Nobody need tell which: they are the bytes 0xcc in pages of code that the program has for itself, where the
// file of the module has another byte. refhist's jumps into its agent stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "guard/code_map.h"

namespace refhist::guard {

class MendedCode {
 public:
  /// Descriptors of /proc/PID/mem, maps and pagemap: opened while the debugger had the program.
  struct Files {
    int memory;
    int maps;
    int pages;
  };

  MendedCode(long pid, const Files& files) : pid_(pid), files_(files) {}

  /// True when there was something to take out.
  bool mend();
  /// The same, and no more, in a copy of the program's memory: a file of /proc/CHILD/mem.
  bool mend_copy(int memory) const;

 private:
  struct Change {
    std::uint64_t address;
    std::uint8_t byte;
  };

  void look_at_module(const CodeRegion& region);
  void look_at_page(std::uint64_t address, const std::uint8_t* file, std::size_t size);
  void look_at_agent_stop(const CodeRegion& region);
  [[nodiscard]] std::optional<std::uint8_t> original(std::uint64_t address, std::uint8_t in_file) const;
  [[nodiscard]] bool leads_to_agent(std::uint64_t address, const std::uint8_t* jump) const;

  long pid_;
  Files files_;
  std::vector<CodeRegion> regions_;
  std::vector<Change> changes_;  // all are known before the first is made: time is short
};

}  // namespace refhist::guard
