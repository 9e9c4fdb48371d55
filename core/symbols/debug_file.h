// Finds the separate debug file of a stripped one: /usr/lib/debug/.build-id/xx/yyyy.debug, then
// .gnu_debuglink. Only local files; nothing is downloaded.
#pragma once

#include <memory>

#include "symbols/elf_file.h"

namespace refhist {

/// nullptr when there is none that belongs to `main` (same build id, or same CRC when one has no build id).
std::unique_ptr<ElfFile> find_debug_file(const ElfFile& main);

}  // namespace refhist
