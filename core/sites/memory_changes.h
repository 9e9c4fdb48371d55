// The instructions of a function that change memory as a get or put changes its counter.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "symbols/module.h"
#include "x86/clobbered_registers.h"
#include "x86/counter_instruction.h"
#include "x86/register_distances.h"

namespace refhist {

struct MemoryChange {
  CounterInstruction instruction;
  std::optional<std::int64_t> distance;        ///< of its base register's value, as RegisterDistances says
  std::optional<std::int64_t> exchanged_step;  ///< of a compare_exchange that succeeds, where that is told
  std::optional<std::int64_t> stored;  ///< of a `store` from a register, what that holds where it is told
  Address zero_side = 0;  ///< of a `last`, which changes nothing itself: where it goes on when it is one
  /// What its base register holds, as RegisterDistances::loaded says.
  std::optional<RegisterDistances::Loaded> base{};
};

struct DirectCall {
  Address address = 0;      ///< of the call
  std::uint8_t length = 0;  ///< of the instruction, bytes
  Address target = 0;
  std::optional<std::int64_t> distance;  ///< of its first argument, as of a MemoryChange
  std::optional<std::int64_t> second;    ///< its second argument, where that is a constant
};

/// With the places where they find that nothing is left. Each function is looked at once.
class MemoryChanges {
 public:
  explicit MemoryChanges(const Module& module) : module_(module), clobbered_(module) {}

  /// In the function that the range lies in, or in the range itself where none is known. By address.
  const std::vector<MemoryChange>& around(const FileRange& range) { return known(range).changes; }
  /// The calls there whose target is known. By address.
  const std::vector<DirectCall>& calls_around(const FileRange& range) { return known(range).calls; }

  /// How much more `reg` holds at `later` than the base register of the instruction's operand did, on the way
  /// on which no jump is taken; nothing when that is not told. `later` lies behind the instruction.
  [[nodiscard]] std::optional<std::int64_t> above_at(const CounterInstruction& instruction, unsigned reg,
                                                     Address later) const;

 private:
  struct Known {
    std::vector<MemoryChange> changes;
    std::vector<DirectCall> calls;
  };

  /// Follows the ways through one function.
  class Walk {
   public:
    Walk(const CodeRange& code, ClobberedRegisters& clobbered, Known& found)
        : code_(code), clobbered_(clobbered), found_(found) {}
    void run();

   private:
    void arrive(Address at, const RegisterDistances& distances);
    void follow_from(Address at);
    void add(const DecodedInstruction& instruction, const RegisterDistances& distances);
    void add_test(const DecodedInstruction& jump);
    void pass(const DecodedInstruction& instruction, const RegisterDistances& distances);

    CodeRange code_;
    ClobberedRegisters& clobbered_;
    Known& found_;
    InstructionDecoder decoder_;
    std::map<Address, RegisterDistances> arrivals_;  // where ways meet
    std::set<Address> waiting_;
    std::map<Address, MemoryChange> changes_;
    std::map<Address, DirectCall> calls_;
    std::set<Address> seen_;
    /// The two instructions on this way before the one that is looked at, the last one first, and what held
    /// there.
    struct Passed {
      DecodedInstruction instruction;
      RegisterDistances distances;
    };
    std::vector<Passed> passed_;
  };

  const Known& known(const FileRange& range);

  const Module& module_;
  ClobberedRegisters clobbered_;
  std::map<Address, Known> known_;  // by the function's first address
};

}  // namespace refhist
