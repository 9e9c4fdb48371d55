#include "families_folder.h"

#include <dlfcn.h>

namespace refhist {

std::filesystem::path plugin_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&families_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).parent_path();
}

std::string families_folder() {
  const std::filesystem::path folder = plugin_folder();
  std::error_code error;
  const std::filesystem::path built = folder / "families";
  if (std::filesystem::is_directory(built, error)) return built.string();
  return (folder / REFHIST_INSTALLED_FAMILIES).lexically_normal().string();
}

}  // namespace refhist
