#include "reports/xml_text.h"

#include "base/printable.h"

namespace refhist {

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace refhist
