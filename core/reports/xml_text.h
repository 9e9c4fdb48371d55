// Text inside of XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace refhist {

/// With entities for what means something there, and U+FFFD for what may not stand there (control characters,
/// bytes that are no UTF-8).
std::string xml_text(std::string_view text);

}  // namespace refhist
