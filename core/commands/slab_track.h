// `refhist track slab:filp,dentry`.
#pragma once

#include <string>
#include <vector>

#include "commands/command.h"

namespace refhist {

/// Is the word of `track` one that names slab caches?
bool names_slab_caches(const std::string& word);
/// The families of the caches that the word names, now that the kernel is known. Throws Error, with the
/// nearest cache.
std::vector<Family> slab_families(CommandContext& context, const std::string& word);

}  // namespace refhist
