#include "fleet/html_text.h"

#include "base/printable.h"

namespace refhist {

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

}  // namespace refhist
