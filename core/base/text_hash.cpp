#include "base/text_hash.h"

#include <fmt/core.h>

namespace refhist {

std::string TextHash::hex() const { return fmt::format("{:016x}", hash_); }

}  // namespace refhist
