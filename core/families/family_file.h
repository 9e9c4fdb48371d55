// Reads families from TOML. The form is described in docs/families.md; `schema = 1`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"

namespace refhist {

/// Throws Error "FILE:LINE: what is wrong; what is expected" (unknown keys and roles included, with the
/// nearest known one).
std::vector<Family> read_family_file(const std::string& path);
std::vector<Family> parse_families(std::string_view toml, const std::string& origin);

/// One [[family]] block, as it stands in a file below `schema = 1`.
std::string to_toml(const Family& family);
/// A whole file that read_family_file reads.
std::string to_toml(const std::vector<Family>& families);

}  // namespace refhist
