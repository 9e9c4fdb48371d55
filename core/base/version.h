#pragma once

#include <string>

namespace refhist {

/// "0.1.0": of refhist itself.
std::string version();

}  // namespace refhist
