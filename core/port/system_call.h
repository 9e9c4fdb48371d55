// A system call that is to run in the program.
#pragma once

#include <array>
#include <cstdint>

namespace refhist {

struct SystemCall {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 6> arguments{};
  std::int64_t result = 0;  ///< negative: -errno
};

}  // namespace refhist
