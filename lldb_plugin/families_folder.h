// Where the shipped families are: found from where the plugin itself was loaded.
#pragma once

#include <string>

namespace refhist {

/// The folder of the shipped families: beside the plugin in the build tree, else below the prefix.
std::string families_folder();

}  // namespace refhist
