#include "base/user_path.h"

#include <cstdlib>
#include <filesystem>

namespace refhist {

std::string user_path(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (path.starts_with("~/") && home != nullptr) return home + path.substr(1);
  std::error_code failed;
  const std::string absolute = std::filesystem::absolute(path, failed).string();
  return failed ? path : absolute;
}

}  // namespace refhist
