// Words within the names of functions.
#pragma once

#include <string_view>

namespace refhist {

/// True when `word` stands in the name as a word of its own: "conn_free_locked", "ConnFree",
/// "_ZN4Conn4freeEv".
bool has_word(std::string_view name, std::string_view word);

}  // namespace refhist
