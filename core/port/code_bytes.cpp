#include "port/code_bytes.h"

#include <algorithm>

namespace refhist {

bool put_wanted(const CodeBytes& code, Address address, std::span<std::uint8_t> bytes) {
  const Address begin = std::max(address, code.address);
  const Address end = std::min(address + bytes.size(), code.address + code.wanted.size());
  if (begin >= end) return false;
  const auto there = bytes.subspan(begin - address, end - begin);
  const auto first = static_cast<std::ptrdiff_t>(begin - code.address);
  if (!std::equal(there.begin(), there.end(), code.expected.begin() + first)) return false;
  std::copy_n(code.wanted.begin() + first, there.size(), there.begin());
  return true;
}

}  // namespace refhist
