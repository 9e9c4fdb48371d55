// Where a function has the object that its probe is about.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "families/family.h"
#include "symbols/module.h"

namespace refhist {

/// As the probe says; but a function that returns nothing (initialisers of C, constructors of C++) has it as
/// its first argument. `signature`: by debug information, where there is some; asked for only where it can
/// change what the probe says. `demangled`: its name.
ObjectSource object_place(const ProbeSpec& probe, const std::function<std::optional<Signature>()>& signature,
                          std::string_view demangled);

/// The type that is pointed at there ("struct conn"); empty when the signature does not tell.
std::string object_type(const Signature& signature, const ObjectSource& object);

}  // namespace refhist
