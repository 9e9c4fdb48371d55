// Text of others inside of HTML.
#pragma once

#include <string>
#include <string_view>

namespace refhist {

/// Fit for an element and for an attribute between double quotes.
std::string html_text(std::string_view text);

}  // namespace refhist
