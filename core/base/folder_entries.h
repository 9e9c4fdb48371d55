// What lies in a folder that may disappear while it is being looked at: a process's threads, a cache.
#pragma once

#include <filesystem>
#include <vector>

namespace refhist {

/// Whole paths, in no order. Where the folder cannot be read any further: those until then. Unlike a loop
/// over directory_iterator it does not throw.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace refhist
