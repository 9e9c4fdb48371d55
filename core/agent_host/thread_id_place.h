// Where the C library keeps a thread's number.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "port/process_memory.h"
#include "symbols/module_map.h"

namespace refhist {

/// Bytes behind the thread pointer. By what the C library tells libthread_db; a static program has not got
/// that, and there the control block of one of these threads is looked for in its memory. Nothing when there
/// is none, as before the C library has set up its first thread.
std::optional<std::uint32_t> thread_id_place(const ModuleMap& modules, long pid, const ProcessMemory& memory,
                                             const std::vector<long>& tids);

}  // namespace refhist
