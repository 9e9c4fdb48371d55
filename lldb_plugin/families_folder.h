// Where the shipped families are: found from where the plugin itself was loaded.
#pragma once

#include <string>

namespace refhist {

/// The folder of the shipped families; the source tree's when there is none near the plugin.
std::string families_folder();

}  // namespace refhist
