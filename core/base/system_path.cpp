#include "base/system_path.h"

#include <algorithm>
#include <array>

namespace refhist {

bool is_system_path(std::string_view path) {
  constexpr std::array<std::string_view, 3> kFolders{"/usr/", "/lib/", "/lib64/"};
  if (path.empty() || path.front() == '[') return true;
  if (path.rfind("/usr/local/", 0) == 0) return false;
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return path.rfind(folder, 0) == 0; });
}

}  // namespace refhist
