// The frames that the kernel writes when it delivers a signal: they tell where the interrupted thread goes
// on.
#pragma once

#include <optional>
#include <vector>

#include "port/process_memory.h"
#include "port/registers.h"

namespace refhist {

/// A stack that a thread has set aside for its handlers (sigaltstack).
struct SignalStack {
  Address begin = 0;
  Address end = 0;
};

class SignalFrames {
 public:
  explicit SignalFrames(const ProcessMemory& memory) : memory_(memory) {}

  /// Where frames within [begin, end) keep exactly these registers. Copies that a program has made of a frame
  /// are none.
  std::vector<Address> find(const Registers& registers, Address begin, Address end);
  /// Those that lie where a signal at these registers puts them on the thread's own stack.
  std::vector<Address> find_below(const Registers& registers);
  /// What a frame says about the thread's signal stack; nothing when it has none.
  [[nodiscard]] std::optional<SignalStack> signal_stack(Address frame) const;
  /// From now on the frame, which nobody returns through any more, goes back to nowhere.
  void make_void(Address frame) const;

 private:
  void look_at(Address begin, Address end);

  const ProcessMemory& memory_;
  std::vector<Address> words_;  // of [begin_, end_)
  Address begin_ = 0;
  Address end_ = 0;
};

}  // namespace refhist
