#include "reports/xml_text.h"

#include <cstdint>

namespace refhist {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80;
}

/// Bytes of the character that begins here; 0: none does.
std::size_t length_of_character(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return 1;
  const std::size_t length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
  if (length == 0 || byte >= 0xf5) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, at + i)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool overlong = (byte == 0xe0 && second < 0xa0) || (byte == 0xf0 && second < 0x90);
  const bool surrogate = byte == 0xed && second >= 0xa0;
  const bool beyond = byte == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text, at);
    const char c = text[at];
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (length == 0 || control) {
      result += kReplacement;
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else {
      result += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace refhist
