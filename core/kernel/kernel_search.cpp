#include "kernel/kernel_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "kernel/kernel_file.h"
#include "symbols/elf_file.h"

namespace refhist {

namespace {
constexpr Address kSlot = 2 << 20;       // what KASLR moves the kernel by is a multiple of this
constexpr unsigned kSlots = 512;         // within one GiB
constexpr Address kImage = 64 << 20;     // that an image reaches at most
constexpr std::size_t kPiece = 1 << 16;  // read at once
constexpr std::size_t kBannerStart = 64;
constexpr std::string_view kSearched = "Linux version ";
}  // namespace

bool KernelSearch::is_at(Address bias) {
  const auto notes = notes_of_kernel(module_);
  if (!notes) fail("{} has no build id: it cannot be told whether it is the guest's kernel", module_.path());
  std::string there(notes->end - notes->begin, '\0');
  return port_.read_memory(notes->begin + bias, there.data(), there.size()) &&
         build_id_in_notes(there) == module_.build_id();
}

Address KernelSearch::bias(Address told) {
  for (const Address bias : {told, Address{0}}) {
    if (is_at(bias)) return bias;
  }
  for (unsigned slot = 1; slot < kSlots; ++slot) {
    if (is_at(slot * kSlot)) return slot * kSlot;
  }
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    char first = 0;
    if (port_.read_memory(kKernelHalf + slot * kSlot, &first, sizeof first))
      tell_other(kKernelHalf + slot * kSlot);
  }
  fail(
      "the guest's kernel is not in memory yet: hbreak start_kernel (LLDB: breakpoint set -H -n "
      "start_kernel) and "
      "continue; where KASLR moves it, continue and interrupt after a second");
}

std::string KernelSearch::banner_from(Address begin) {
  std::string piece;
  std::string last;  // a banner may lie across two pieces
  for (Address at = begin; at < begin + kImage;) {
    piece.resize(kPiece);
    if (!port_.read_memory(at, piece.data(), piece.size())) {
      last.clear();
      at = (at / kSlot + 1) * kSlot;
      continue;
    }
    const std::string both = last + piece;
    for (std::size_t found = both.find(kSearched); found != std::string::npos;
         found = both.find(kSearched, found + 1)) {
      // Formats of messages begin like it.
      const std::string release = release_in(std::string_view(both).substr(found, kBannerStart));
      if (!release.empty() && release.front() >= '0' && release.front() <= '9')
        return both.substr(found, kBannerStart);
    }
    last = piece.substr(piece.size() - kBannerStart);
    at += piece.size();
  }
  return {};
}

void KernelSearch::tell_other(Address begin) {
  const std::string guest = release_in(banner_from(begin));
  const std::string file = release_in(banner_of_file(module_));
  if (guest.empty() || guest == file)
    fail("{} is of another build than the guest's kernel{}: load the vmlinux of the guest's build",
         file_name(module_.path()), guest.empty() ? "" : fmt::format(", though both are Linux {}", guest));
  fail("the guest runs Linux {}, {} is Linux {}: load the vmlinux of the guest's build", guest,
       file_name(module_.path()), file);
}

}  // namespace refhist
