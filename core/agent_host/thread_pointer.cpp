#include "agent_host/thread_pointer.h"

#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace refhist {

namespace {

constexpr std::uint64_t kFsGsBase = 2;  // in AT_HWCAP2
constexpr std::size_t kBytes = 9;       // of `rdfsbase` with its `nop`, and of the load
constexpr std::array<std::uint8_t, 4> kNop{0x0f, 0x1f, 0x40, 0x00};

/// `rdfsbase` of a register of 64 bits, and the `nop`.
bool is_read(std::span<const std::uint8_t> code) {
  const bool wide = code[1] == 0x48 || code[1] == 0x49;
  return code[0] == 0xf3 && wide && code[2] == 0x0f && code[3] == 0xae && (code[4] & 0xf8U) == 0xc0 &&
         std::equal(kNop.begin(), kNop.end(), code.begin() + 5);
}

/// `mov %fs:0, register`
std::array<std::uint8_t, kBytes> load_of(std::span<const std::uint8_t> read) {
  const bool high = read[1] == 0x49;  // r8 to r15
  const auto reg = static_cast<std::uint8_t>(read[4] & 7U);
  const auto operands = static_cast<std::uint8_t>(0x04 | (reg << 3U));
  return {0x64, static_cast<std::uint8_t>(high ? 0x4c : 0x48), 0x8b, operands, 0x25, 0, 0, 0, 0};
}

}  // namespace

bool allows_rdfsbase() { return (getauxval(AT_HWCAP2) & kFsGsBase) != 0; }

std::size_t load_thread_pointer(std::span<std::uint8_t> code) {
  std::size_t places = 0;
  for (std::size_t at = 0; at + kBytes <= code.size(); ++at) {
    const std::span<std::uint8_t> here = code.subspan(at, kBytes);
    if (!is_read(here)) continue;
    const auto load = load_of(here);
    std::copy(load.begin(), load.end(), here.begin());
    ++places;
  }
  return places;
}

}  // namespace refhist
