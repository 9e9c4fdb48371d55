// Whence the program has the values that its registers hold, over the frames of a stopped thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/tail_calls.h"
#include "events/program_access.h"
#include "session/session_state.h"
#include "x86/value_origin.h"

namespace refhist {

/// Where code of ours runs in place of the program's, that is meant.
Address own_pc(const ModuleMap& modules, Address pc);

class FrameOrigins {
 public:
  /// A call in the program's code, by a frame of the stack.
  struct Call {
    DecodedInstruction instruction;
    StraightWay way;  ///< to it
    std::size_t frame = 0;
    Address bias = 0;
  };

  FrameOrigins(SessionState& state, const ProgramAccess& access, const Registers& registers);
  FrameOrigins(const FrameOrigins&) = delete;
  FrameOrigins& operator=(const FrameOrigins&) = delete;

  /// There is no code where the thread stands: the first frame has called that.
  [[nodiscard]] bool jumped() const { return jumped_; }
  /// Innermost first.
  [[nodiscard]] const std::vector<RawFrame>& frames() const { return raw_; }
  [[nodiscard]] const Registers& registers(std::size_t frame) const { return registers_[frame]; }
  /// That the frame is in; none where it is in none.
  [[nodiscard]] const std::optional<Call>& call(std::size_t frame) const { return calls_[frame]; }

  /// Of what the call was given.
  [[nodiscard]] ValueOrigin of_call(const Call& call) const;
  /// Of what the thread has where it stands; nothing when there is no code.
  [[nodiscard]] std::optional<ValueOrigin> here() const;
  /// The same, without looking back.
  [[nodiscard]] std::optional<ValueOrigin> now() const;
  /// A call has returned what the register has now to the function that it comes from.
  [[nodiscard]] bool is_result(unsigned reg) const;

 private:
  [[nodiscard]] std::optional<ValueOrigin> behind(bool looks_back) const;
  [[nodiscard]] std::optional<Call> read_call(const RawFrame& raw, std::size_t frame) const;
  /// What the function of this frame was called by: a function that has jumped to it, and is gone; then the
  /// call. Empty where that is not known.
  [[nodiscard]] std::vector<ValueOrigin> givers(std::size_t index) const;
  /// What a register held where the function of this frame was entered.
  [[nodiscard]] std::optional<ValueOrigin::Traced> given(const ValueOrigin& giver, std::size_t caller,
                                                         unsigned reg) const;
  [[nodiscard]] std::optional<ValueOrigin::Traced> at_entry(std::size_t index, unsigned reg) const;
  [[nodiscard]] ValueOrigin::ReadWord reader() const;

  const ModuleMap& modules_;
  TailCalls& tail_calls_;
  const ProgramAccess& access_;
  bool jumped_ = false;
  Registers innermost_;
  std::vector<RawFrame> raw_;
  std::vector<Registers> registers_;        // in step
  std::vector<std::optional<Call>> calls_;  // in step
};

}  // namespace refhist
