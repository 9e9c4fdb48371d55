// What a program is started with so that allocators on top of malloc do not keep blocks for themselves that
// could be withheld from it (agent/quarantine.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace refhist {

constexpr std::uint64_t kMostQuarantine = 64U << 20U;  ///< bytes

struct EnvironmentVariable {
  std::string name;
  std::string value;
};

/// `now`: what a variable of the program's environment is; nothing when it is not set. What the user has
/// chosen there stays.
std::vector<EnvironmentVariable> quarantine_environment(
    const std::function<std::optional<std::string>(const std::string& name)>& now);

}  // namespace refhist
