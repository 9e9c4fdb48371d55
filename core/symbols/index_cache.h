// Indexes of debug information, kept between sessions: in $XDG_CACHE_HOME/refhist or ~/.cache/refhist, by
// build-id.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "symbols/elf_file.h"
#include "symbols/table_file.h"

namespace refhist {

/// True when indexes are kept, as from the start: `refhist set index-cache`.
bool keeps_indexes();
void keep_indexes(bool kept);

/// Path of the file where an index of this debug information is kept. Empty when it is not: without a
/// build-id, where making it takes no time worth the file, without a home, or switched off. `alternative`:
/// what dwz shares among several files, or nullptr.
std::string index_file(const ElfFile& debug_file, Elf* alternative, std::string_view name);

/// The kept tables; empty when there are none. `path` may be empty.
TableFile kept_tables(const std::string& path, std::uint32_t kind, std::uint32_t version);

/// The same; else what `make` makes, kept where `path` is not empty and `lasting()` says so
/// afterwards. Kept files that were not used for longest go when all of them take more than 1 GiB.
TableFile kept_tables(const std::string& path, std::uint32_t kind, std::uint32_t version,
                      const std::function<TableFile()>& make, const std::function<bool()>& lasting);

}  // namespace refhist
