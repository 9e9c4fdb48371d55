#include "families_folder.h"

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>

namespace refhist {

namespace {
std::filesystem::path plugin_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&families_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).parent_path();
}
}  // namespace

std::string families_folder() {
  const std::filesystem::path folder = plugin_folder();
  std::error_code error;
  for (const auto& candidate : {folder / "families", folder / REFHIST_INSTALLED_FAMILIES}) {
    if (!folder.empty() && std::filesystem::is_directory(candidate, error)) {
      return candidate.lexically_normal().string();
    }
  }
  return REFHIST_SOURCE_FAMILIES;
}

}  // namespace refhist
