// Text of others (a program, its debug information, its threads and files, a history file) made fit to be
// shown or written: at the border, where text leaves us.
#pragma once

#include <string>
#include <string_view>

namespace refhist {

/// Bytes of the UTF-8 character that begins here; 0: none does.
std::size_t length_of_character(std::string_view text, std::size_t at);

/// The text with \x1b, \u202e and the like in the place of what moves a terminal's cursor, turns text around,
/// or is no character: controls but newline and tab, marks of direction, bytes that are no UTF-8. What has a
/// code above U+007E is written with \u, so that a JSON text stays one.
std::string printable(std::string_view text);

/// The same for a name: newlines and tabs are controls as well.
std::string one_line(std::string_view text);

}  // namespace refhist
