#include "symbols/index_progress.h"

#include <fmt/core.h>

#include "base/interruption.h"
#include "base/text.h"

namespace refhist {

void IndexProgress::ask() const {
  Interruption::check([this] {
    return fmt::format("reading the debug information of {}: unit {} of {}", file_name(module_), unit_,
                       total_);
  });
}

}  // namespace refhist
