// Functions that are handed an object's counter, or the struct in it that has the counter, in place of the
// object: refcount_inc(&conn->refs), base_ref(&conn->base).
#pragma once

#include <optional>
#include <string_view>

#include "symbols/module.h"

namespace refhist {

/// How far behind what the function's parameter points at the counter lies; nothing when that is no such
/// function. `path`: of the counter in the struct `counted`.
std::optional<std::uint64_t> handed_counter(const Signature& function, std::string_view counted,
                                            std::string_view path, const Module& module);

}  // namespace refhist
