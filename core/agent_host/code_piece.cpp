#include "agent_host/code_piece.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "agent_host/agent_image.h"

namespace refhist {

namespace {
constexpr std::size_t kLine = 64;
constexpr Address kReach = (Address{1} << 31) - 1;

std::size_t lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
}  // namespace

CodePiece::CodePiece(Address address, std::span<std::uint8_t> memory, const agent::Config& config)
    : address_(address), memory_(memory) {
  const AgentImage& image = AgentImage::get();
  std::copy(image.bytes().begin(), image.bytes().end(), memory_.begin());
  set_config(config);
  used_ = lines(image.bytes().size());
}

bool CodePiece::reaches(Address begin, Address end) const {
  const Address lowest = std::min(begin, address_);
  const Address highest = std::max(end, this->end());
  return highest - lowest < kReach;
}

Address CodePiece::agent_entry() const { return address_ + AgentImage::get().entry(); }
Address CodePiece::agent_end() const { return address_ + AgentImage::get().ended(); }
Address CodePiece::agent_attempt() const { return address_ + AgentImage::get().attempt(); }
Address CodePiece::agent_attempted() const { return address_ + AgentImage::get().attempted(); }
Address CodePiece::stop_page() const { return end() - agent::kFrameBytes - agent::kStopBytes; }
Address CodePiece::agent_return() const { return address_ + AgentImage::get().returned(); }

std::optional<Address> CodePiece::next(std::size_t size) const {
  if (address_ + used_ + lines(size) > stop_page()) return std::nullopt;
  return address_ + used_;
}

void CodePiece::append(std::span<const std::uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += lines(bytes.size());
}

void CodePiece::rewrite(Address address, std::span<const std::uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(address - address_));
}

void CodePiece::set_config(const agent::Config& config) {
  config_ = config;
  std::memcpy(memory_.data() + AgentImage::get().config(), &config, sizeof config);
}

void CodePiece::switch_off() {
  agent::Config config = config_;
  config.control = address_ + AgentImage::get().config() + offsetof(agent::Config, nothing);
  set_config(config);
}

bool CodePiece::set_frames(std::span<const std::uint8_t> frames) {
  if (frames.size() > agent::kFrameBytes - kHeader) return false;
  // Version 1; .eh_frame by a 4-byte distance from that field; no count, no table.
  constexpr std::array<std::uint8_t, kHeader> kFrameHeader{1, 0x1b, 0xff, 0xff, 4, 0, 0, 0};
  std::copy(kFrameHeader.begin(), kFrameHeader.end(),
            memory_.begin() + static_cast<std::ptrdiff_t>(frames_at() - kHeader));
  std::copy(frames.begin(), frames.end(), memory_.begin() + static_cast<std::ptrdiff_t>(frames_at()));
  return true;
}

}  // namespace refhist
