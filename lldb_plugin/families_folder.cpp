#include "families_folder.h"

#include <filesystem>
#include <initializer_list>

#include "plugin_folder.h"

namespace refhist {

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
