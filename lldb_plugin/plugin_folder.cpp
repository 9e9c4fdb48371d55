#include "plugin_folder.h"

#include <dlfcn.h>

namespace refhist {

std::filesystem::path plugin_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&plugin_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).parent_path();
}

}  // namespace refhist
