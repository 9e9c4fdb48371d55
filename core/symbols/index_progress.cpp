#include "symbols/index_progress.h"

#include <fmt/core.h>

#include "base/interruption.h"
#include "base/text.h"

namespace refhist {

void IndexProgress::ask() const {
  Interruption::check([this] {
    return fmt::format("reading the debug information of {}: unit {} of {}", file_name(units_.module()),
                       unit_, total_);
  });
}

void IndexProgress::ask_sorting() const {
  Interruption::check([this] {
    return fmt::format("reading the debug information of {}: sorting what was found",
                       file_name(units_.module()));
  });
}

}  // namespace refhist
