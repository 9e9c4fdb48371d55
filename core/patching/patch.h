// PLACEHOLDER until the patch planner lands.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "base/types.h"
namespace refhist {
struct CodeRange { Address address = 0; std::span<const std::uint8_t> bytes; };
struct PatchRequest { CodeRange function; std::span<const std::uint8_t> after; std::vector<Address> keep; };
struct Patch { Address function = 0; Address at = 0; unsigned length = 0; std::int32_t sp_delta = 0; bool red_zone_live = false; std::vector<std::uint8_t> original; bool falls_through = true; };
struct PatchResult { std::optional<Patch> patch; std::string why_not; };
}
