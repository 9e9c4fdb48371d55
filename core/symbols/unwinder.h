// Walks a stack by call frame information, from memory that it reads in large pieces.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "port/registers.h"
#include "symbols/module_map.h"
#include "symbols/stack_window.h"
#include "symbols/unwind_rule.h"

namespace refhist {

/// Reads up to `size` bytes at `address`; returns how many could be read (a prefix).
using MemoryReader = std::function<std::size_t(Address address, void* out, std::size_t size)>;

struct RawFrame {
  Address pc = 0;
  Address cfa = 0;  ///< of this frame; 0 when unknown
  bool exact =
      false;  ///< pc is the next instruction (innermost, or interrupted by a signal), not a return address
};

struct UnwindOptions {
  std::size_t limit = 512;
};

class Unwinder {
 public:
  explicit Unwinder(const ModuleMap& modules) : modules_(modules) {}

  /// Appends frames, innermost first. Returns true when the outermost frame was reached, false when the
  /// walk was cut short (no rule, unreadable memory, limit): the stack is then truncated.
  /// `frame_registers`, when given, receives the registers of each frame in step with the appended frames. In
  /// outer frames only rbx, rbp, rsp, r12-r15 and rip are the frame's own; the others hold what they held
  /// further in (after a signal frame all are right again).
  bool unwind(const Registers& registers, const MemoryReader& read, const UnwindOptions& options,
              std::vector<RawFrame>& out, std::vector<Registers>* frame_registers = nullptr);

  /// In memory: code without call frames in which a stack is at its end.
  void set_ends(std::vector<FileRange> ends) { ends_ = std::move(ends); }
  /// To be called when modules came or went: cached rules of old addresses are dropped.
  void modules_changed();

 private:
  /// What one step does at one pc. `simple` steps need nothing but a register, offsets and saved words.
  struct Step {
    enum class Kind : std::uint8_t { none, outermost, simple, general };
    static constexpr std::int32_t kNotSaved = INT32_MIN;
    Kind kind = Kind::none;
    bool signal_frame = false;
    std::uint8_t cfa_register = kRsp;
    std::int32_t cfa_offset = 0;
    std::int32_t lowest = 0;              ///< the least of `saved`
    std::array<std::int32_t, 7> saved{};  ///< from the CFA; in step with kSaved of unwinder.cpp
    const UnwindRule* rule = nullptr;     ///< for general
  };
  enum class Outcome : std::uint8_t { caller, outermost, stuck };

  const Step& step_at(Address address);
  Outcome step(const Step& step, const MemoryReader& read, Registers& registers, RawFrame& frame);
  bool step_simple(const Step& step, const MemoryReader& read, Registers& registers, Address& cfa);
  bool step_general(const UnwindRule& rule, const MemoryReader& read, Registers& registers, Address& cfa);

  const ModuleMap& modules_;
  std::vector<FileRange> ends_;
  std::unordered_map<Address, Step> cache_;  // by looked-up address in memory
  StackWindow window_;
};

}  // namespace refhist
