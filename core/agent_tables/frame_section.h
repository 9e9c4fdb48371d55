// The entries of one .eh_frame or .debug_frame: which code they describe and with which instructions.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent_tables/byte_reader.h"
#include "base/types.h"

namespace refhist {

/// What the entries of several functions have in common.
struct FrameCommon {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uint64_t return_register = 0;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool signal_frame = false;
  std::string_view instructions;
};

struct FrameEntry {
  Address begin = 0;
  Address end = 0;
  const FrameCommon* common = nullptr;
  std::string_view instructions = {};
};

class FrameSection {
 public:
  enum class Kind { eh_frame, debug_frame };
  FrameSection(Kind kind, Address address, std::string_view bytes);

  /// In the order of the section.
  [[nodiscard]] const std::vector<FrameEntry>& entries() const { return entries_; }
  /// Of an instruction that sets the code address.
  [[nodiscard]] Address pointer(ByteReader& in, std::uint8_t encoding) const;

 private:
  void read_record(ByteReader& in);
  void read_entry(ByteReader in, const FrameCommon& common);
  const FrameCommon* common_at(std::size_t offset);
  std::optional<FrameCommon> read_common(ByteReader in) const;
  [[nodiscard]] bool read_augmentation(ByteReader& in, std::string_view text, FrameCommon& common) const;

  Kind kind_;
  Address address_;
  std::string_view bytes_;
  std::vector<FrameEntry> entries_;
  std::unordered_map<std::size_t, std::optional<FrameCommon>> commons_;  // by offset
};

}  // namespace refhist
