// The addresses outside of the families' sites at which the program stops on our account, and what for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "port/debugger_port.h"
#include "sites/breakpoints.h"

namespace refhist {

enum class StopPoint : std::uint8_t {
  call_return = 1,      ///< a call that is watched to its end comes back there
  module_change = 2,    ///< the dynamic linker has mapped or unmapped a library
  agent_question = 4,   ///< the agent asks for a decision
  fork = 8,             ///< a function that forks begins
  innermost_fork = 16,  ///< the same for the one that makes the child: fork calls _Fork
  exit = 32,            ///< the process is about to end
};

class StopPoints {
 public:
  explicit StopPoints(Breakpoints& breakpoints) : breakpoints_(breakpoints) {}

  /// What one address is for.
  class Reasons {
   public:
    [[nodiscard]] bool has(StopPoint kind) const { return (kinds_ & static_cast<std::uint8_t>(kind)) != 0; }
    /// Numbers of the rules that watch the function which begins there.
    [[nodiscard]] const std::vector<int>& rules() const { return rules_; }

   private:
    friend class StopPoints;
    std::uint8_t kinds_ = 0;
    std::vector<int> rules_;
  };

  [[nodiscard]] Reasons at(Address pc) const;
  [[nodiscard]] bool has(Address address, StopPoint kind) const;
  [[nodiscard]] bool any(StopPoint kind) const { return first(kind) != 0; }
  /// 0: none.
  [[nodiscard]] Address first(StopPoint kind) const;

  /// One breakpoint for each kind. False when the debugger refused it.
  bool add(DebuggerPort& port, Address address, StopPoint kind);
  /// The same for a rule, without a second breakpoint for the next rule there.
  bool add_rule(DebuggerPort& port, Address address, int rule);
  void remove(DebuggerPort& port, Address address, StopPoint kind);
  template <class Predicate>
  void remove_if(DebuggerPort& port, StopPoint kind, Predicate&& unwanted);
  /// The memory was unmapped, and its breakpoints were dropped.
  void drop(Address begin, Address end);
  /// The process is gone, and its breakpoints with it.
  void clear() { reasons_.clear(); }

 private:
  Breakpoints& breakpoints_;
  std::unordered_map<Address, Reasons> reasons_;
};

template <class Predicate>
void StopPoints::remove_if(DebuggerPort& port, StopPoint kind, Predicate&& unwanted) {
  std::vector<Address> found;
  for (const auto& [address, reasons] : reasons_) {
    if (reasons.has(kind) && unwanted(address)) found.push_back(address);
  }
  for (const Address address : found) remove(port, address, kind);
}

}  // namespace refhist
