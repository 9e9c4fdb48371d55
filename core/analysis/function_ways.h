// The ways through the code of one function from a place where it has a reference: where they part for good
// from those on which the reference is given back. Read from the instructions alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/activation_trail.h"
#include "analysis/slot.h"
#include "symbols/module.h"
#include "x86/instruction_effects.h"

namespace refhist {

/// Where the pointer lies by which a reference is taken or given back, as the function's code has it.
enum class Held : std::uint8_t {
  unknown,
  local,     ///< in a variable of the function
  argument,  ///< its caller gave it
  memory,    ///< in an object, a container or a global variable
};

/// What a call does to the reference that is asked for.
enum class CallDoes : std::uint8_t {
  take,       ///< to what it is given or returns
  make,       ///< to what it returns
  give_back,  ///< of what it is given
};

/// A way on which nothing is given back.
struct LostWay {
  Address branch = 0;            ///< the last instruction from which a put could still be reached
  std::vector<Address> own;      ///< instructions that no way with a put passes, in order of address
  bool passed_on = false;        ///< the reference is passed to a call on the way
  bool handed_over = false;      ///< to a function that no way with a put passes it to
  bool stored = false;           ///< or kept in memory
  std::optional<Address> moved;  ///< or put in another variable of the function's, by this instruction
  std::optional<Address> leave;  ///< where it leaves the function; where it does
  bool again = false;            ///< it leads to the call that takes the next reference
};

class FunctionWays {
 public:
  struct Code {
    const Module* module = nullptr;
    std::vector<FileRange> ranges;  ///< of the function
    Address from = 0;               ///< behind the call that took the reference, or where the function begins
    bool taken = false;             ///< it is the former: the reference is that call's result
    bool inlined = false;           ///< a copy of it in another function
    bool elsewhere = false;      ///< the call has left the reference in memory; its result is another thing
    std::vector<Passed> passed;  ///< what this call of the function is known to have passed behind `from`
    bool loaded = false;         ///< the reference was loaded from memory right before `from`
    unsigned reg = 0;            ///< that it is in there, as instructions number them
    bool handed_out = false;     ///< and what takes it returns it, to whom has not had it before
    bool passed_in = false;      ///< or the call was given it, in the argument that has the object
    /// Of a call by name: it leaves what it is given in the argument (1-based) with its caller. May be empty.
    std::function<bool(Address target, unsigned argument)> borrows = {};
    /// Of a call by name that takes or gives back: the argument (1-based) that has the object. May be empty.
    std::function<unsigned(Address target)> argument = {};
    Address counted = 0;  ///< or the instruction there, right before `from`, has changed its counter in place
    /// Where `elsewhere`: maybe in a variable that the call had the address of, and its result is no pointer.
    bool by_argument = false;
  };
  using GivesBack = std::function<bool(Address at, Address next, std::optional<Address> call)>;
  /// Of a call by name: what follows is never reached.
  using Ends = std::function<bool(Address target)>;

  explicit FunctionWays(Code code) : code_(std::move(code)) {}
  /// Empty when every way gives back, none does, or the code cannot be followed. Ways that part at a test
  /// whether there is anything to give back are left out.
  std::vector<LostWay> lost(const GivesBack& gives_back, const Ends& ends);
  /// Where the function leaves with the reference in hand, in order of address: neither given back on the way
  /// nor returned, and it was there to be had. Empty when a way keeps it, in memory that is not the stack's,
  /// or the code cannot be followed. Of a copy in another function: what comes before it goes on there.
  std::vector<Address> leaves(const GivesBack& gives_back, const Ends& ends);
  /// The same where it does so on some ways only: on others it is kept in memory, or passed to a call that
  /// may keep it.
  std::vector<Address> drops(const GivesBack& gives_back, const Ends& ends);
  /// On some way it is given back, kept in memory, or passed to a call that may keep it.
  [[nodiscard]] bool keeps_on_some_way() const;
  /// Where what had the reference in hand gets the result of another call of the same function instead.
  std::vector<Address> overwrites(const GivesBack& gives_back, const Ends& ends);
  /// The calls that are the last ones to get the reference, where it is never kept in memory nor returned.
  std::vector<Address> last_uses(const GivesBack& gives_back, const Ends& ends);
  /// Of the instruction at `at`, or the call that returns there: where what it gives back came from, or where
  /// what it takes or makes is kept. From the beginning of the function.
  Held held(Address at, CallDoes does);
  /// Of what `held` has found to lie in memory.
  [[nodiscard]] const Slot& slot() const { return slot_; }
  /// What a call that returns there enters; nothing for one through a pointer.
  [[nodiscard]] std::optional<Address> called_before(Address behind) const;
  /// Of the ways that `lost` looked at: what comes behind a place that gives back, or may do so.
  [[nodiscard]] const std::set<Address>& good() const { return good_; }
  /// All instructions that were read.
  [[nodiscard]] std::vector<Address> instructions() const;
  /// Behind the call that what is given back is the result of, or the instruction that loads it.
  struct Obtained {
    Address from = 0;
    bool loaded = false;
    unsigned reg = 0;
  };
  [[nodiscard]] std::optional<Obtained> obtained() const;
  /// They begin where the reference was the result of a call.
  [[nodiscard]] bool behind_call() const { return code_.taken && !code_.loaded && code_.counted == 0; }
  /// Places that give back, of those that were passed.
  [[nodiscard]] std::size_t puts() const { return puts_; }

 private:
  struct Step {
    std::vector<Address> next;
    Address end = 0;
    std::optional<Address> called;  ///< what a call enters; nothing for one through a pointer
    bool gives = false;
    bool puts = false;  ///< it may give back the reference of an earlier turn of a loop
    bool leaves = false;
    bool takes_again = false;     ///< or a put behind it gives back another reference
    bool lets_go = false;         ///< nothing of the function has the reference in hand behind it
    Value tested;                 ///< of a branch: what was compared for it
    std::optional<Address> none;  ///< of a branch: where it goes when there was no reference to be had
    bool returns_it = false;      ///< it leaves with the reference as its result
    Value returned;
    Value result;  ///< what the register of results holds behind it
    std::vector<std::pair<unsigned, Value>>
        passed;    ///< to a call: argument (1-based; 0: a variable that has it)
    Value stored;  ///< to memory other than the stack
    Value stored_at;
    std::vector<ValuePlaces> stored_bases;  ///< Slot::bases
    Value replaced;                         ///< what a register or a place on the stack held before
    Value replaced_by;
    ValuePlaces home;     ///< where that was: one place that calls leave alone, or none
    ValuePlaces holding;  ///< where `takes_again`: what has the reference
  };
  struct Waiting {
    Address at = 0;
    MachineState state;
    Value tested;
    bool against_none = false;  ///< that was compared with 0
    bool kept = false;          ///< the reference was stored, passed to a call or given back on the way
  };
  bool read(const GivesBack& gives_back, const Ends& ends);
  void end_at_let_go();
  void end_at_later_turns();
  void leave_by_branch(Address to, const Value& given);
  bool read_one(const Waiting& waiting, const GivesBack& gives_back, const Ends& ends);
  [[nodiscard]] bool inside(Address at) const;
  [[nodiscard]] bool is_between(Address at) const;
  [[nodiscard]] bool is_reference(const Value& value) const { return value.known() && value == reference_; }
  /// To a call that may keep it.
  [[nodiscard]] bool passes_on(const Step& step) const;
  /// To any call.
  [[nodiscard]] bool passes(const Step& step) const;
  /// Where the variable that has it gets the next one, in a later turn of the loop.
  std::optional<Address> overwritten_in_loop() const;
  /// Where the last of these places gets another value, and nothing was given back before.
  [[nodiscard]] std::optional<Address> last_overwritten(ValuePlaces holding) const;
  /// What a register held before the code that is looked at.
  [[nodiscard]] bool is_older(const Value& value) const;
  /// What a call to `target` takes a reference to, or gives one back of, as far as its arguments have it.
  [[nodiscard]] Value given_to(std::optional<Address> target, const MachineState& state) const;
  static Value counted_by(const DecodedInstruction& instruction, MachineState& state);
  Held from_where();
  Held kept_where(Address at, CallDoes does);
  /// From behind the call that returns to `at`, or the instruction there, the function leaves without a pass
  /// through one of these.
  [[nodiscard]] bool leaves_without(Address at, const std::set<Address>& stores) const;
  [[nodiscard]] bool moves(const Step& step) const {
    return !step.home.empty() && is_reference(step.replaced_by) && !is_reference(step.replaced);
  }
  [[nodiscard]] bool stores(const Step& step) const { return !step.gives && is_reference(step.stored); }
  /// The last register or stack slot that had the reference gets another value.
  [[nodiscard]] bool lets_go(const Waiting& before, const DecodedInstruction& instruction,
                             const MachineState& behind) const;
  Value compared(const DecodedInstruction& instruction, MachineState& state) const;
  void note_none(const Waiting& waiting, const DecodedInstruction& instruction, Step& step) const;
  void note_base(const DecodedInstruction& instruction, const MachineState& state);
  void note_load(const DecodedInstruction& instruction, MachineState& state);
  void note_replaced(const DecodedInstruction& instruction, MachineState& state, Step& step) const;
  void note_uses(const DecodedInstruction& instruction, MachineState& state, Step& step) const;
  /// Without a branch, code that is shared with others gives back behind this place.
  bool gives_soon(Address at, const GivesBack& gives_back) const;
  MachineState at_begin();
  /// What the counter belongs to that was changed in place, after what runs before that.
  Value follow_to_count(MachineState& state);
  /// Of the call that returns to `behind`.
  void return_from_call(MachineState& state, Address behind);
  /// Returns what the instructions store to memory other than the stack, where that is known.
  std::vector<Value> execute(const std::vector<DecodedInstruction>& way, MachineState& state);
  /// From as far before the call that took the reference as is known, to behind it.
  void follow_to_call(MachineState& state);
  /// The same where the call has left the reference in a variable that it had the address of.
  void follow_to_variable(MachineState& state);
  [[nodiscard]] bool has_frame_pointer() const;
  /// Goes with what is known to have been passed: the rest is what comes behind that.
  void follow_passed();
  /// From `last_` on, with the reference in hand; `kept`: no further where it is kept or passed on.
  [[nodiscard]] std::vector<Address> leaves_in_hand(bool kept) const;
  [[nodiscard]] bool keeps(const Step& step) const { return step.gives || stores(step) || passes_on(step); }
  [[nodiscard]] std::vector<Address> ends_of_own(const std::set<Address>& in_hand) const;
  /// The way leads by the last place that was passed, or parts behind it.
  [[nodiscard]] bool fits(Address branch, const std::set<Address>& way) const;
  /// Where a way is not followed any further, beside the call that takes the next reference.
  enum class Ending { none, put, put_or_store };
  [[nodiscard]] std::set<Address> reached(std::set<Address> from, Ending ending) const;
  /// Of `among`, those from which a put can be reached.
  [[nodiscard]] std::set<Address> may_give(const std::set<Address>& among) const;
  /// All puts that can be reached from there are made again and again: the branch is how often.
  [[nodiscard]] bool guards_loop(Address branch) const;
  [[nodiscard]] LostWay way(Address branch, Address first, const std::set<Address>& good) const;
  /// Passes it to a function that no way with a put passes it to: that one may keep it.
  [[nodiscard]] bool hands_over(Address at) const;
  /// Of the ways that begin at `first` and give nothing back, the instructions of those that hand nothing
  /// over either; empty when all do.
  [[nodiscard]] std::set<Address> in_hand_throughout(Address first) const;

  Code code_;
  ValueTable values_;
  FunctionFacts facts_;
  Value reference_;
  Value status_;                  // what the call has returned that has left the reference in a variable
  std::optional<Address> taker_;  // what the call before `from` enters, where that takes it
  Slot slot_;
  std::set<Address> without_;  // what comes where there was no reference to be had
  std::set<PlaceId> older_;    // is_older()
  bool one_reference_ = true;  // every put gives it back
  bool given_back_ = false;    // a put does
  bool kept_before_ = false;   // it was stored before its counter was changed
  bool names_slot_ = false;    // what Slot::bases are made of is wanted
  std::set<Address> good_;
  CallResults results_;
  std::map<PlaceId, Obtained> loads_;
  std::map<PlaceId, std::pair<Address, std::vector<ValuePlaces>>>
      bases_;  // Slot::code and ::bases of what was loaded
  std::map<Address, Step> steps_;
  std::vector<Waiting> waiting_;
  std::set<Address> borrowers_;  // functions that get it before it is given back
  std::size_t puts_ = 0;
  bool again_ = false;  ///< what came next is the call that takes the next reference
  Address last_ = 0;    ///< the last instruction that this call of the function is known to have come to
};

}  // namespace refhist
