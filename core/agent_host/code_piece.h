// One piece of code memory near some modules: a copy of the agent, then stubs, one after the other. This
// side writes it through the debugger's own mapping.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/agent_abi.h"
#include "base/types.h"

namespace refhist {

class CodePiece {
 public:
  /// `memory`: the debugger's mapping of what the program has at `address`.
  CodePiece(Address address, std::span<std::uint8_t> memory, const agent::Config& config);

  [[nodiscard]] Address address() const { return address_; }
  [[nodiscard]] Address end() const { return address_ + memory_.size(); }
  [[nodiscard]] bool contains(Address address) const { return address_ <= address && address < end(); }
  /// Can code anywhere in [begin, end) jump here and back?
  [[nodiscard]] bool reaches(Address begin, Address end) const;
  [[nodiscard]] Address agent_entry() const;
  [[nodiscard]] Address agent_return() const;
  [[nodiscard]] Address agent_end() const;
  [[nodiscard]] Address agent_attempt() const;
  [[nodiscard]] Address agent_attempted() const;
  /// A place of the agent's image.
  [[nodiscard]] Address in_agent(Address place) const { return address_ + place; }
  /// A page that the program may map something else over: stubs stay away from it.
  [[nodiscard]] Address stop_page() const;

  /// Where the next stub of at most `size` bytes will lie; nothing when the piece is full.
  [[nodiscard]] std::optional<Address> next(std::size_t size) const;
  /// Writes there.
  void append(std::span<const std::uint8_t> bytes);
  /// Writes over what was appended at the address.
  void rewrite(Address address, std::span<const std::uint8_t> bytes);
  [[nodiscard]] const agent::Config& config() const { return config_; }
  void set_config(const agent::Config& config);

  /// From now on nothing is recorded by way of this piece, in any process that has it.
  void switch_off();

  static constexpr std::size_t kHeader = 8;  ///< .eh_frame_hdr without a table
  [[nodiscard]] std::size_t code_size() const { return memory_.size() - agent::kFrameBytes; }
  [[nodiscard]] std::size_t frames_at() const { return memory_.size() - agent::kFrameBytes + kHeader; }
  [[nodiscard]] std::size_t used() const { return used_; }
  /// Call frame information of this piece. False when there is no room for all of it.
  bool set_frames(std::span<const std::uint8_t> frames);

 private:
  Address address_;
  std::span<std::uint8_t> memory_;
  std::size_t used_ = 0;
  agent::Config config_{};  // what was written: the program may have written there since
};

}  // namespace refhist
