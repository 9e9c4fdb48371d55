// `refhist track auto`: for those who do not know yet what is counted in a program.
#pragma once

#include <string>

#include "commands/command.h"

namespace refhist {

/// Follows all shipped families, as their libraries are loaded, and what `discover` finds in modules that are
/// not the system's. Returns what to say: a line for the first, and one for each of the others.
std::string track_auto(CommandContext& context);

}  // namespace refhist
