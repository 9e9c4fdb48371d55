#include "file_path.h"

#include <climits>

namespace refhist {

std::string path_of(const lldb::SBFileSpec& file) {
  if (!file.IsValid()) return {};
  char path[PATH_MAX];
  const std::uint32_t length = file.GetPath(path, sizeof path);
  return length < sizeof path ? std::string(path, length) : std::string();
}

}  // namespace refhist
