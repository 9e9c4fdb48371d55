#pragma once
#include "patching/patch.h"
namespace refhist {
struct Relocated { std::vector<std::uint8_t> bytes; std::vector<std::pair<std::uint32_t, std::uint32_t>> boundaries; };
std::optional<Relocated> relocate(const Patch&, Address stub, std::string* why_not);
std::array<std::uint8_t, 5> jump_bytes(Address from, Address to);
}
