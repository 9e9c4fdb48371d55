// An ELF file put together again from what a process has mapped of it, for modules whose file is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/types.h"

namespace refhist {

struct MemoryImage {
  std::vector<std::uint8_t> bytes;  ///< to be read as an ELF file: segments at their offsets, dynamic symbols
  Address bias = 0;                 ///< what was added to its addresses when it was loaded
};

/// Reads all of [address, address + size); false when any byte is unreadable.
using WholeReader = std::function<bool(Address address, void* out, std::size_t size)>;

/// `base`: where the ELF header lies in memory. Section headers are not loaded: those of the dynamic symbols
/// are made anew. Nothing when there is no x86-64 ELF header, or no dynamic section that can be read.
std::optional<MemoryImage> read_memory_image(const WholeReader& read, Address base);

}  // namespace refhist
