// Colour for a report on a terminal.
#pragma once

#include <string>

namespace refhist {

/// With escape sequences: what is wrong in red, notes in grey.
std::string coloured(const std::string& report);

/// The file is a terminal, and the user has not asked for none (NO_COLOR, TERM=dumb).
bool wants_colour(int file);

}  // namespace refhist
