// A page of events as it stands in a file: compressed, with the directory of its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"

struct ZSTD_CCtx_s;

namespace refhist {

class PageCodec {
 public:
  PageCodec();
  /// Valid until the next call.
  std::span<const std::uint8_t> pack(std::span<const std::uint8_t> page);
  /// Throws Error when it is damaged or larger than `most`.
  static std::vector<std::uint8_t> unpack(std::span<const std::uint8_t> packed, std::size_t most);

  /// Numbers of two bytes, the lower one first.
  static std::vector<std::uint8_t> directory(std::span<const std::uint16_t> blocks);
  static std::vector<std::uint16_t> blocks(std::span<const std::uint8_t> directory);
  /// Numbers of four bytes.
  static std::vector<std::uint8_t> directory(std::span<const EventId> firsts);
  static std::vector<EventId> firsts(std::span<const std::uint8_t> directory);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<std::uint8_t> packed_;
};

}  // namespace refhist
