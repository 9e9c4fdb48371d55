// Where the plugin was loaded from.
#pragma once

#include <filesystem>

namespace refhist {

/// Without symbolic links; empty when the plugin's file cannot be found.
std::filesystem::path plugin_folder();

}  // namespace refhist
