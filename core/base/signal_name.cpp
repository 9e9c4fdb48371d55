#include "base/signal_name.h"

#include <fmt/core.h>

#include <cstring>

namespace refhist {

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace refhist
