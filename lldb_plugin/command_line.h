// The words that LLDB has made of a command line, joined again into one line for the core.
#pragma once

#include <string>

namespace refhist {

/// LLDB has taken quotes and backslashes away; a word that needs them gets double quotes, so that
/// split_words() gives back the same words. `words` ends with a null pointer, or is null itself.
std::string join_words(const char* const* words);

}  // namespace refhist
