#include "session/long_work.h"

#include <fmt/core.h>

namespace refhist {

bool LongWork::go_on(const std::function<std::string()>& what) {
  const auto now = std::chrono::steady_clock::now();
  const bool due = telling_ == Telling::every_step || now - told_ > std::chrono::seconds(2);
  if (due && telling_ != Telling::nothing) {
    const char* hint = purpose_ == For::command ? " (Ctrl-C stops it)" : "";
    port_.print(fmt::format("refhist: {}{}\n", what(), hint));
    told_ = now;
  }
  return !port_.interrupted();
}

}  // namespace refhist
