// An ELF file that tells about code which no file holds: names and call frame information. Debuggers load it,
// and this library reads it as a module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent_host/code_lines.h"
#include "base/types.h"

namespace refhist {

struct CodeName {
  std::string name;
  Address begin = 0;
  std::uint64_t size = 0;
};

/// All addresses count from the beginning of the code, which is `code_size` bytes long. `frames` is an
/// .eh_frame that lies at `frames_at`. With `lines`, those too.
std::vector<std::uint8_t> make_symbol_file(std::uint64_t code_size, std::span<const CodeName> names,
                                           std::span<const std::uint8_t> frames, Address frames_at,
                                           const CodeLines* lines = nullptr);

}  // namespace refhist
