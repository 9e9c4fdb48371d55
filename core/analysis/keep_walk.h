// What a function does with pointers that it keeps, on each way through its code: whether it has taken a
// reference to what it stores in memory, passes to a call, or returns.
//
// Ways are followed side by side with what registers and stack hold on each; a loop is followed as often as
// that still tells something new. As far as the code can be followed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/slot.h"
#include "symbols/module.h"
#include "x86/instruction_effects.h"

namespace refhist {

class KeepWalk {
 public:
  /// +1 of an instruction that takes a reference, or a call whose result is one; -1 of one that gives back.
  using Change = std::function<int(Address at, std::optional<Address> call)>;
  /// What is known of functions that are called, by where calls enter them.
  struct Called {
    std::function<bool(Address target)> ends;   ///< what follows is never reached
    std::function<bool(Address target)> makes;  ///< returns new memory; asked for `drops` alone
    std::function<bool(Address target)> gives;  ///< may give a reference back; likewise
    /// Or what lies so far behind its argument 1; asked for `left` alone, of what `gives` says so of.
    std::function<bool(Address target, std::int64_t offset)> gives_member;
    /// Gives its argument 1 back, as what a pointer is passed along with to end it.
    std::function<bool(Address target)> destroys;
    /// Nobody reads any more what its argument 1 points at.
    std::function<bool(Address target)> wipes;
    /// The number of the argument (1-based) whose reference it takes over; asked for by `given` and
    /// `uses_given` alone.
    std::function<std::optional<unsigned>(Address target)> takes_over = {};
    /// What takes or gives back has the object in this argument (1-based); empty: in the first one.
    std::function<unsigned(Address target)> argument = {};
    /// Leaves what it is given in the argument (1-based) with its caller; asked for by `only_looks_at` alone.
    std::function<bool(Address target, unsigned argument)> leaves = {};
  };

  /// `ranges`: of the function, which begins at the first one.
  KeepWalk(const Module& module, std::vector<FileRange> ranges, Change change, Called called)
      : module_(module), ranges_(std::move(ranges)), change_(std::move(change)), called_(std::move(called)) {}

  /// Calls that end what one of their arguments points at: its number (1-based).
  using EndCalls = std::map<Address, unsigned>;
  struct Ends {
    EndCalls calls;
    std::int64_t offset = 0;  ///< from there to the pointer that is asked for
  };
  /// What is looked at.
  struct Wanted {
    std::set<Address> places;          ///< stores, or calls
    std::optional<unsigned> argument;  ///< of the calls, 1-based
    /// Copies of memory, with how far behind where they store to what is asked for lies.
    std::map<Address, std::int64_t> copies;
    bool returns = false;        ///< what the function returns
    bool destroyed = false;      ///< what calls are given right before what destroys it
    bool forgets = false;        ///< what the function is given
    bool drops = false;          ///< KeepWalk::drops() sets it
    const Ends* ends = nullptr;  ///< KeepWalk::left() sets it
    [[nodiscard]] bool follows_puts() const { return drops || ends != nullptr; }
  };
  /// Where the function has a pointer from.
  struct Origin {
    enum class From : std::uint8_t { other, argument, result };
    From from = From::other;
    unsigned argument = 0;  ///< 1-based
    Address behind = 0;     ///< of a result: where its call returns to
    bool filled = false;    ///< that call has left it in a variable whose address it was given
  };
  struct Kept : Origin {
    Address at = 0;           ///< the store, the call or the return
    bool also_taken = false;  ///< on other ways
    bool given_back = false;  ///< on every way seen that takes no reference, the function gives one back
    Slot slot;                ///< that it is stored in
    ValuePlaces held;         ///< what has it there
    /// On a way without a reference, what copied it to where it was kept from; where there are other ways.
    std::optional<Address> copied;
    std::optional<Address> parted;  ///< the last instruction that such a way has in common with the others
    /// Instructions that only ways without a reference pass, in order of address; where there are others.
    std::vector<Address> own;
  };
  /// What is kept without a reference on some way, or on each is given back as often as it was taken.
  /// Constants, null pointers, and what is only moved from one place to another, are left out; so is what one
  /// element of a container gets from another one.
  std::vector<Kept> untaken(const Wanted& wanted);
  /// Of the stores, those over a pointer that nothing gives back, passes on, or keeps elsewhere, on some way:
  /// what they store to. Not the first ones into new memory.
  std::vector<Slot> drops(const std::set<Address>& stores);
  struct Ended {
    Address at = 0;
    bool left = false;   ///< on some way the pointer that lies there may still be one to give back
    bool own = false;    ///< what ends is what the function's own argument 1 points at
    bool given = false;  ///< on some way it was given back, or something passed on that may do so
  };
  /// By call; 0 is where the function returns, for what its own argument 1 points at.
  std::map<Address, Ended> left(const Ends& ends);
  /// Of those, on some way: for what the function itself was given.
  [[nodiscard]] bool takes_for_argument() const { return takes_for_argument_; }
  /// Places at which a reference was taken for what is kept there, on every way that was seen.
  [[nodiscard]] const std::set<Address>& taken() const { return taken_; }
  [[nodiscard]] std::optional<Address> called_before(Address behind) const;
  /// What has the pointer at such a place.
  [[nodiscard]] ValuePlaces held_at(Address place) const;
  /// What is given back at a place.
  struct Given : Origin {
    bool owned = false;                  ///< on some way the function has taken a reference to it before
    bool lent = false;                   ///< on some way it has not,
    bool again = false;                  ///< or has given it back before,
    std::optional<Address> handed_over;  ///< or has passed it to this call, which takes it over
  };
  /// `put`: an instruction that gives back, or where a call that does so returns to. Nothing where no way
  /// leads there with anything but a null pointer.
  std::optional<Given> given(Address put);
  /// Whether the instruction at `use`, or the call that returns there, uses on some way what was given back
  /// at `put` before it; nothing where neither is told.
  std::optional<bool> uses_given(Address put, Address use);
  /// On some way the function neither gives back what it is given in the argument (1-based), nor passes it on
  /// or keeps it, and on others it gives it back.
  bool leaves_alone(unsigned argument);
  /// On no way the function keeps what it is given in the argument (1-based), passes it on or returns it.
  bool only_looks_at(unsigned argument);
  /// Instructions that were followed, on all ways.
  [[nodiscard]] std::size_t steps() const { return passed_.size(); }

 private:
  struct Passed {
    Address at = 0;
    std::size_t before = 0;  ///< its index, plus 1; 0 at the beginning
  };
  struct Balance {
    int taken = 0;
    int left = 0;       ///< less what was given back
    bool none = false;  ///< a null pointer
    bool operator==(const Balance&) const = default;
  };
  struct Way {
    explicit Way(ValueTable& values) : machine(values) {}
    Address at = 0;
    MachineState machine;
    std::map<PlaceId, Balance> balances;
    std::map<Address, std::pair<Value, Value>> kept;      ///< by place: what, and in which address
    std::map<PlaceId, Address> copied;                    ///< by what did so last
    Value tested;                                         ///< last compared with 0
    std::map<Address, std::pair<Value, Value>> replaced;  ///< by store: what was there, and the address
    std::map<PlaceId, Value> stored;                      ///< in place of what was loaded there before
    std::set<PlaceId> put;                                ///< given back
    std::set<PlaceId> given;                              ///< to calls that may give it back
    std::set<PlaceId> away;                               ///< passed on, kept in memory, or returned
    std::map<unsigned, Value> vectors;                    ///< by register: where it was loaded from
    std::set<PlaceId> last_put;         ///< what may have been given back at the place asked for
    std::map<PlaceId, Address> handed;  ///< to the call that takes it over
    std::size_t passed = 0;             ///< as Passed::before
    [[nodiscard]] bool same(const Way& other) const {
      return machine == other.machine && balances == other.balances && kept == other.kept &&
             replaced == other.replaced && put == other.put && given == other.given &&
             vectors == other.vectors && away == other.away && handed == other.handed &&
             last_put == other.last_put;
    }
  };
  struct Seen {
    Value value;
    Value stored_at;
    Address at = 0;
    std::optional<Address> copied;
    std::size_t passed = 0;  ///< of the first way without a reference
    bool untaken = false;
    bool undone = false;
    bool untaken_left = false;  ///< on such a way nothing was given back
    bool taken = false;
    bool gave = false;    ///< an argument: given back on other ways,
    bool away = false;    ///< or passed on there, kept in memory, or returned
    bool others = false;  ///< it takes one itself
    std::set<Address> untaken_ways;
    std::set<Address> taken_ways;
  };
  void run(const Wanted& wanted);
  /// What all ways do with what the function is given in it (1-based); null where no way was followed to its
  /// end.
  const Seen* seen_of_argument(unsigned argument);
  void leave(Way way, const DecodedInstruction& instruction, const Wanted& wanted);
  /// It is a tail call under a condition.
  [[nodiscard]] bool leaves_if(const DecodedInstruction& instruction) const;
  void step(Way way, const Wanted& wanted);
  /// The way goes on there, unless that tells nothing new.
  void enter(Way way, Address at);
  void branch(const Way& way, const DecodedInstruction& instruction, const Wanted& wanted);
  /// `by`: what `change` says of the call.
  void return_from_call(Way& way, const DecodedInstruction& call, int by);
  void execute(Way& way, const DecodedInstruction& instruction);
  void note_change(Way& way, const DecodedInstruction& instruction, int by);
  void note_put(Way& way, const DecodedInstruction& instruction, const Value& value);
  void note_handed_over(Way& way, const DecodedInstruction& call);
  void set_origin(Origin& origin, const Value& value) const;
  /// Of a call: variables whose address it is given.
  void note_variables(const Way& way, const DecodedInstruction& call);
  /// `leaves`: it is a jump out of the function.
  void note_use(Way& way, const DecodedInstruction& instruction, int by, bool leaves);
  void note_escaped(Way& way, const DecodedInstruction& instruction);
  void note_kept(Way& way, const DecodedInstruction& instruction, const Wanted& wanted);
  void note_passed(Way& way, std::optional<Address> target) const;
  void note_forgotten(const Way& way);
  void note_copied_memory(Way& way, const DecodedInstruction& instruction, std::int64_t behind);
  void note_vector(Way& way, const DecodedInstruction& instruction);
  /// What a copy has put at the address was replaced.
  void drop_copies(Way& way, const Value& address) const;
  void note_wiped(Way& way, const Value& wiped) const;
  void note_destroyed(Way& way, const DecodedInstruction& call);
  [[nodiscard]] std::optional<Address> code_in(const Value& value) const;
  [[nodiscard]] bool is_argument(const Value& value) const;
  void keep(Way& way, Address place, const Value& value, const Value& stored_at);
  void note_stored(Way& way, const DecodedInstruction& instruction);
  void note_replaced(Way& way, const DecodedInstruction& instruction);
  void note_content(Way& way, const DecodedInstruction& instruction);
  void note_ends(Way& way, const DecodedInstruction& instruction, const Ends& ends);
  void note_ended(Way& way, Address place, const Value& holder, std::int64_t offset);
  void note_arguments(Way& way, std::optional<Address> target, const Wanted& wanted) const;
  static bool is_none(const Way& way, const Value& value);
  static void note_used(Way& way, const Value& value);
  Value loaded_by(Way& way, const DecodedInstruction& instruction);
  void name_unknown(Way& way, const DecodedInstruction& instruction);
  void forget(Way& way, PlaceId place);
  static void note_copied(Way& way, const DecodedInstruction& instruction);
  static void note_compared(Way& way, const DecodedInstruction& instruction);
  void note_returned(const Way& way);
  void add_passed(const Way& way, std::set<Address>& ways) const;
  /// The way ends, or what was kept there is another thing from now on.
  void finish(const Way& way);
  /// The way is not followed any more.
  void note_cut(const Way& way);
  void finish(const Way& way, Address place, const Value& value, const Value& stored_at);
  [[nodiscard]] Slot slot_of(Address place, const Value& stored_at) const;
  [[nodiscard]] std::optional<Kept> kept_of(Address place, const Seen& seen) const;
  [[nodiscard]] bool inside(Address at) const;
  [[nodiscard]] bool in_one_container(const Value& from, const Value& to) const;
  [[nodiscard]] Value container_of(const Value& address) const;

  const Module& module_;
  std::vector<FileRange> ranges_;
  Change change_;
  Called called_;
  ValueTable values_;
  FunctionFacts facts_;
  CallResults results_;
  std::map<Address, Value> result_values_;  // by where the call returns to
  std::map<Address, Value> loads_;          // of what is not known otherwise, by instruction
  std::map<Address, Address> calls_;        // what is entered, likewise
  std::map<PlaceId, Value> asked_;          // of a result: the first argument of its call
  std::deque<Way> waiting_;
  std::vector<Passed> passed_;
  std::map<Address, std::vector<Way>> been_;
  std::map<Address, Seen> seen_;
  std::map<Address, Seen> cut_;                        // where no way was followed to its end
  std::set<Address> ended_places_;                     // where some way was
  std::map<Address, ValuePlaces> held_;                // at places, the first time
  std::map<Address, std::vector<ValuePlaces>> bases_;  // of stores: Slot::bases
  std::set<Address> taken_;
  bool takes_for_argument_ = false;
  bool forgets_ = false;
  bool unread_ = false;  // some way could not be followed
  std::set<Address> copies_;
  std::map<std::int64_t, std::set<Address>> fillers_;  // by place on the stack: calls that got its address
  std::set<PlaceId> made_;                             // results that are new
  std::map<Address, Value> drops_;                     // by store: the address
  std::map<Address, Ended> ended_;
  Address put_ = 0;  // given's and uses_given's; 0: neither was asked for
  std::optional<Given> given_;
  Address use_ = 0;          // uses_given's
  bool uses_same_ = false;   // what was given back, on some way
  bool uses_other_ = false;  // or something else that is known
};

}  // namespace refhist
