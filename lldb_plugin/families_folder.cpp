#include "families_folder.h"

#include <filesystem>

#include "plugin_folder.h"

namespace refhist {

std::string families_folder() {
  const std::filesystem::path folder = plugin_folder();
  std::error_code error;
  const std::filesystem::path built = folder / "families";
  if (std::filesystem::is_directory(built, error)) return built.string();
  return (folder / REFHIST_INSTALLED_FAMILIES).lexically_normal().string();
}

}  // namespace refhist
