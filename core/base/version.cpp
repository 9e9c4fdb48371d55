#include "base/version.h"

namespace refhist {

std::string version() { return REFHIST_VERSION; }

}  // namespace refhist
