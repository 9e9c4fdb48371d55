#include "x86/name_words.h"

namespace refhist {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool has_word(std::string_view name, std::string_view word) {
  for (std::size_t at = 0; at + word.size() <= name.size(); ++at) {
    const char first = name[at];
    const bool capital = first == word[0] - 'a' + 'A';
    if ((first != word[0] && !capital) || name.substr(at + 1, word.size() - 1) != word.substr(1)) continue;
    const bool begins = at == 0 || capital || !is_letter(name[at - 1]);
    const std::size_t after = at + word.size();
    const bool ends = after == name.size() || !(name[after] >= 'a' && name[after] <= 'z');
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace refhist
