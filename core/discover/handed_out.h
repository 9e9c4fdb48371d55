// Makers that hand their object out by a parameter: int conn_open(struct conn **).
#pragma once

#include <functional>
#include <optional>

#include "families/family.h"
#include "symbols/module.h"

namespace refhist {

/// Where a call has the object, and when it has one.
struct ObjectPlace {
  ObjectSource object;
  Success success = Success::always;
};

/// Of a function that returns a status, which parameter it hands a new object out by, and when it did;
/// nothing when it returns something else, or none or several may be that. `points_there`: at a pointer to
/// such an object.
std::optional<ObjectPlace> handed_out(const Signature& signature,
                                      const std::function<bool(const Parameter&)>& points_there);

}  // namespace refhist
