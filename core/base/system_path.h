// Files of the distribution, not the user's.
#pragma once

#include <string_view>

namespace refhist {

/// Below /usr (not /usr/local), /lib or /lib64, or no file at all ("[vdso]").
bool is_system_path(std::string_view path);

}  // namespace refhist
