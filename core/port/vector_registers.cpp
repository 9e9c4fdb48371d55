#include "port/vector_registers.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>

namespace refhist {

namespace {
// Layout of the XSAVE area: control words, x87 and xmm registers, software bytes and header, then the upper
// halves of ymm and what newer processors add.
constexpr std::size_t kWord = sizeof(Address);
constexpr std::size_t kRegistersBegin = 32 / kWord;
constexpr std::size_t kRegistersEnd = 416 / kWord;
constexpr std::size_t kExtendedBegin = 576 / kWord;
}  // namespace

std::vector<Address> traced_vector_words(long tid) {
  std::array<Address, 2048> area{};
  iovec buffer{area.data(), sizeof area};
  if (ptrace(PTRACE_GETREGSET, static_cast<pid_t>(tid), NT_X86_XSTATE, &buffer) != 0) return {};
  const std::size_t count = buffer.iov_len / kWord;
  std::vector<Address> words;
  for (std::size_t i = kRegistersBegin; i < count; ++i) {
    const bool value = i < kRegistersEnd || i >= kExtendedBegin;
    if (value && area[i] != 0) words.push_back(area[i]);
  }
  return words;
}

}  // namespace refhist
