// The GOT slots of a module and the symbols that the dynamic linker resolves them to.
#pragma once

#include <string>
#include <unordered_map>

#include "base/types.h"

namespace refhist {

/// Slot (file address) -> symbol name, from the dynamic relocations of the ELF file. Empty when it cannot be
/// read.
std::unordered_map<Address, std::string> read_import_slots(const std::string& path);

}  // namespace refhist
