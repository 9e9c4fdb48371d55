// The agent: a shared object that needs no relocation, embedded in this library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace refhist {

class AgentImage {
 public:
  /// The embedded one. Throws Error when it is not what the build promises.
  static const AgentImage& get();

  /// The memory image from address 0 on, as it is to lie in a program on this machine.
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  // Places in it.
  [[nodiscard]] Address entry() const { return entry_; }
  [[nodiscard]] Address returned() const { return returned_; }
  [[nodiscard]] Address ended() const { return ended_; }
  [[nodiscard]] Address attempt() const { return attempt_; }
  [[nodiscard]] Address attempted() const { return attempted_; }
  [[nodiscard]] Address find_object() const { return find_object_; }
  [[nodiscard]] Address prctl() const { return prctl_; }
  [[nodiscard]] Address syscall() const { return syscall_; }
  [[nodiscard]] Address config() const { return config_; }
  /// Its .eh_frame, and where that lies in the image.
  [[nodiscard]] std::span<const std::uint8_t> frames() const;
  [[nodiscard]] Address frames_at() const { return frames_at_; }

 private:
  AgentImage();

  std::vector<std::uint8_t> bytes_;
  Address entry_ = 0;
  Address returned_ = 0;
  Address ended_ = 0;
  Address attempt_ = 0;
  Address attempted_ = 0;
  Address find_object_ = 0;
  Address prctl_ = 0;
  Address syscall_ = 0;
  Address config_ = 0;
  Address frames_at_ = 0;
  std::uint64_t frames_size_ = 0;
};

}  // namespace refhist
