// What a user of a program has got wrong on its command line: the program's exit status is 2.
#pragma once

#include <utility>

#include "base/error.h"

namespace refhist {

class UsageError : public Error {
 public:
  using Error::Error;
};

/// Throws a UsageError with a formatted message.
template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace refhist
