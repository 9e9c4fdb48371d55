#include "fleet/html_text.h"

#include "base/text.h"
#include "reports/xml_text.h"

namespace refhist {

std::string html_text(std::string_view text) { return replace_all(xml_text(text), "'", "&#39;"); }

}  // namespace refhist
