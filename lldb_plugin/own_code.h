// The program's own code where LLDB shows memory: jumps of ours stand in it.
#pragma once

#include <lldb/API/LLDB.h>

#include <vector>

#include "port/code_bytes.h"

namespace refhist {

/// What cache_own_code has put there is forgotten: a step of LLDB's would put breakpoints into the jumps.
void forget_own_code(lldb::SBProcess& process, const std::vector<CodeBytes>& covered);

/// LLDB's cache of the stopped process's memory holds the program's own bytes until the process goes on or
/// they are written again. Returns what is in it: nothing where the memory can be written only through LLDB,
/// which would empty the cache.
std::vector<CodeBytes> cache_own_code(lldb::SBTarget& target, lldb::SBProcess& process,
                                      std::vector<CodeBytes> covered);

}  // namespace refhist
