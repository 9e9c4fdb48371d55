#include "x86/stack_arguments.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "x86/stack_state.h"

namespace refhist {
namespace {

using Kind = StackPointer::Kind;

constexpr std::int64_t kFirstArgument = 8;  // above the return address
constexpr unsigned kStepBudget = 30000;
constexpr std::size_t kMostDepths = 4;  // different rsp at one instruction
constexpr std::size_t kMostEntries = 4096;
constexpr unsigned kTableLoadReach = 8;  // instructions between the load of a table's entry and the jump

/// How many entries the jump table has that is about to be used: `cmp index, N; ja` stands a few instructions
/// before the load of the entry.
class TableBound {
 public:
  void clear() { *this = TableBound(); }
  void see(const DecodedInstruction& instruction) {
    ++since_;
    const ZydisDecodedOperand& first = instruction.operands[0];
    const ZydisDecodedOperand& second = instruction.operands[1];
    switch (instruction.raw.mnemonic) {
      case ZYDIS_MNEMONIC_CMP:
        compared_ = first.type == ZYDIS_OPERAND_TYPE_REGISTER && second.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
        if (!compared_) return;
        index_ = whole_register(first.reg.value);
        last_ = second.imm.value.u;
        since_ = 0;
        return;
      case ZYDIS_MNEMONIC_JNBE:
        bounded_ = compared_ && since_ == 1;
        return;
      case ZYDIS_MNEMONIC_MOVZX:
        // Of the index itself, to its full width.
        if (first.type == ZYDIS_OPERAND_TYPE_REGISTER && second.type == ZYDIS_OPERAND_TYPE_REGISTER &&
            whole_register(second.reg.value) == index_)
          index_ = whole_register(first.reg.value);
        return;
      case ZYDIS_MNEMONIC_MOVSXD:
        entries_ = 0;
        if (bounded_ && since_ <= kReach && second.type == ZYDIS_OPERAND_TYPE_MEMORY &&
            second.mem.index == index_)
          entries_ = last_ + 1;
        return;
      default:
        if (first.type == ZYDIS_OPERAND_TYPE_REGISTER && whole_register(first.reg.value) == index_ &&
            (first.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
          bounded_ = false;
    }
  }
  /// 0 when it is not known.
  [[nodiscard]] std::uint64_t entries() const { return entries_; }

 private:
  static constexpr unsigned kReach = 6;  // instructions
  ZydisRegister index_ = ZYDIS_REGISTER_NONE;
  std::uint64_t last_ = 0;
  unsigned since_ = 0;
  bool compared_ = false;
  bool bounded_ = false;
  std::uint64_t entries_ = 0;
};

class Walk {
 public:
  Walk(const CodeRange& function, const CodeAround& around) : function_(function), around_(around) {}

  StackArguments run();

 private:
  struct Place {
    Address address;
    StackState state;
    Address call = 0;  // the call right before it (padding may stand between), if that is how it was reached
  };
  struct Seen {
    StackState state;
    Address call;  // as in Place
  };

  void start_again();
  bool take_pending(Place& place);
  void follow(Place place);
  /// True when the path goes on at the next instruction.
  bool step(const DecodedInstruction& instruction, StackState& state);
  void leave(const DecodedInstruction& instruction, const StackState& state);
  void look_at_memory(const DecodedInstruction& instruction, const StackState& state);
  void look_at(const StackPointer& pointer, std::int64_t size);
  void indirect_jump(const DecodedInstruction& jump, const StackState& state);
  void jump_by_tables(const StackState& state);
  void jump_by_table(Address table, const StackState& state);
  /// False when the instruction has been followed with a state that knew no more.
  bool first_time(Place& place);
  static void widen(StackState& state, const std::vector<Seen>& all);
  /// Of two different depths at one instruction one came past a call that does not return.
  bool settle(const Place& place, const Seen& known);
  void note_call(const DecodedInstruction& call, const StackState& state);
  void follow_landing_pads();
  CodeRange code_at(Address address) const;
  void doubt() {
    if (verdict_ == StackArguments::no) verdict_ = StackArguments::unknown;
  }

  const CodeRange& function_;
  const CodeAround& around_;
  InstructionDecoder decoder_;
  StackArguments verdict_ = StackArguments::no;
  unsigned steps_ = 0;
  unsigned since_table_load_ = 0;  // on this path, in instructions
  TableBound bound_;
  bool wrong_ = false;  // a call that does not return was followed: all again
  std::vector<Place> pending_;
  std::map<Address, Place> behind_calls_;  // what to follow when nothing else is left, lowest first
  std::unordered_map<Address, std::vector<Seen>> seen_;
  std::set<Address> do_not_return_;
  std::vector<StackState> at_calls_;
  std::set<Address> data_taken_;
};

StackArguments Walk::run() {
  start_again();
  for (;;) {
    Place place;
    while (!wrong_ && take_pending(place)) follow(place);
    if (steps_ > kStepBudget) return StackArguments::unknown;
    if (!wrong_) follow_landing_pads();
    if (wrong_) {
      start_again();
    } else if (pending_.empty()) {
      return verdict_;
    }
  }
}

void Walk::start_again() {
  verdict_ = StackArguments::no;
  wrong_ = false;
  behind_calls_.clear();
  seen_.clear();
  at_calls_.clear();
  pending_.assign(1, {function_.address, StackState()});
}

bool Walk::take_pending(Place& place) {
  if (!pending_.empty()) {
    place = pending_.back();
    pending_.pop_back();
    return true;
  }
  if (behind_calls_.empty()) return false;
  place = behind_calls_.begin()->second;
  behind_calls_.erase(behind_calls_.begin());
  return true;
}

CodeRange Walk::code_at(Address address) const {
  if (function_.contains(address)) return function_.from(address);
  return around_.code_at ? around_.code_at(address) : CodeRange{address, {}};
}

void Walk::follow(Place place) {
  CodeRange code = code_at(place.address);
  if (place.call != 0 && !function_.contains(place.address)) code = code_at(place.call);
  since_table_load_ = kTableLoadReach;
  bound_.clear();
  DecodedInstruction instruction;
  while (first_time(place)) {
    if (++steps_ > kStepBudget) return;
    if (!code.contains(place.address)) {
      if (place.call != 0) return;  // the call does not return: this is the end of the function
      code = code_at(place.address);
    }
    if (!decoder_.decode(code, place.address, instruction)) return doubt();
    if (!step(instruction, place.state)) return;
    if (!instruction.is_padding()) place.call = 0;
    place.address = instruction.next();
  }
}

bool Walk::first_time(Place& place) {
  std::vector<Seen>& all = seen_[place.address];
  widen(place.state, all);
  for (Seen& known : all) {
    if (known.state.rsp() != place.state.rsp()) {
      if (settle(place, known)) return false;
      continue;
    }
    if (place.call == 0) known.call = 0;
    if (!known.state.meet(place.state)) return false;
    place.state = known.state;
    return true;
  }
  // What has been followed from here lies below what is followed now. The budget ends what never ends.
  if (all.size() > kMostDepths) all.clear();
  all.push_back({place.state, place.call});
  return true;
}

// A loop that makes room on the stack, page by page: of its depth no more is known than from where it came.
void Walk::widen(StackState& state, const std::vector<Seen>& all) {
  if (all.size() < kMostDepths) return;
  StackPointer bound = {Kind::at_most, state.rsp().offset};
  for (const Seen& known : all) bound.offset = std::max(bound.offset, known.state.rsp().offset);
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const Seen& seen) { return seen.state.rsp() == state.rsp(); });
  if (!known) state.set_rsp(bound);
}

bool Walk::settle(const Place& place, const Seen& known) {
  if (known.call == 0 && place.call == 0) return false;
  wrong_ = known.call != 0;
  do_not_return_.insert(wrong_ ? known.call : place.call);
  return true;
}

bool Walk::step(const DecodedInstruction& instruction, StackState& state) {
  ++since_table_load_;
  bound_.see(instruction);
  look_at_memory(instruction, state);
  if (instruction.is_call()) {
    note_call(instruction, state);
    return false;
  }
  if (!instruction.falls_through()) {
    leave(instruction, state);
    return false;
  }
  if (const auto target = instruction.branch_target()) pending_.push_back({*target, state});
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_ENTER) {
    doubt();
    return false;
  }
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOVSXD) since_table_load_ = 0;
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_LEA && instruction.rip_target()) {
    data_taken_.insert(*instruction.rip_target());
  }
  state.execute(instruction);
  return true;
}

void Walk::leave(const DecodedInstruction& instruction, const StackState& state) {
  if (instruction.is_jump()) {
    if (const auto target = instruction.branch_target()) {
      pending_.push_back({*target, state});
    } else {
      indirect_jump(instruction, state);
    }
  } else if (instruction.raw.meta.category == ZYDIS_CATEGORY_RET &&
             state.rsp() != StackPointer{Kind::exact, 0}) {
    doubt();  // something on this path was misunderstood
  }
}

void Walk::look_at_memory(const DecodedInstruction& instruction, const StackState& state) {
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_NOP) return;
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_POP) look_at(state.rsp(), 8);
  for (unsigned i = 0; i < instruction.raw.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    const StackPointer pointer = state.address_of(operand);
    if (pointer.kind == Kind::none && operand.mem.base == ZYDIS_REGISTER_RSP) doubt();
    const bool only_address = operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN;
    look_at(pointer, only_address ? 1 : operand.size / 8);
  }
}

void Walk::look_at(const StackPointer& pointer, std::int64_t size) {
  if (pointer.kind == Kind::none || pointer.offset + size <= kFirstArgument) return;
  if (pointer.kind == Kind::exact) {
    verdict_ = StackArguments::yes;
  } else {
    doubt();
  }
}

void Walk::indirect_jump(const DecodedInstruction& jump, const StackState& state) {
  const bool frame_is_gone = state.rsp() == StackPointer{Kind::exact, 0};
  if (const auto slot = jump.rip_target(); slot && frame_is_gone) {
    const StackArguments there = around_.imported ? around_.imported(*slot) : StackArguments::unknown;
    if (there == StackArguments::yes) verdict_ = StackArguments::yes;
    if (there == StackArguments::unknown) doubt();
    return;
  }
  if (frame_is_gone && since_table_load_ > kTableLoadReach) return doubt();
  jump_by_tables(state);
}

/// Every table whose address the function has taken so far may be the one.
void Walk::jump_by_tables(const StackState& state) {
  const std::size_t before = pending_.size();
  for (const Address table : data_taken_) jump_by_table(table, state);
  if (pending_.size() == before) doubt();
}

void Walk::jump_by_table(Address table, const StackState& state) {
  if (!around_.data_at || !around_.code_at) return;
  const auto bytes = around_.data_at(table).bytes;
  std::set<Address> targets;
  const std::size_t most =
      bound_.entries() != 0 && bound_.entries() < kMostEntries ? bound_.entries() : kMostEntries;
  for (std::size_t i = 0; i < most && (i + 1) * 4 <= bytes.size(); ++i) {
    std::int32_t distance;
    std::memcpy(&distance, bytes.data() + i * 4, sizeof distance);
    const Address target = table + static_cast<Address>(std::int64_t{distance});
    if (code_at(target).bytes.empty()) break;
    targets.insert(target);
  }
  for (const Address target : targets) pending_.push_back({target, state});
}

/// What stands behind a call is followed last: only then is it known at which depth jumps get there, and so
/// whether the call returns.
void Walk::note_call(const DecodedInstruction& call, const StackState& state) {
  if (do_not_return_.count(call.address) == 0) {
    Place behind{call.next(), state, call.address};
    behind.state.execute(call);
    behind_calls_[call.next()] = behind;
  }
  for (StackState& known : at_calls_) {
    if (known.rsp() != state.rsp()) continue;
    known.meet(state);
    return;
  }
  at_calls_.push_back(state);
}

/// Code that nothing leads to, in a function with calls: exceptions land there, with the frame that a call
/// had.
void Walk::follow_landing_pads() {
  if (at_calls_.empty()) return;
  DecodedInstruction instruction;
  for (Address at = function_.address; at < function_.end(); at = instruction.next()) {
    if (!decoder_.decode(function_, at, instruction)) return doubt();
    if (instruction.is_padding() || seen_.count(at) != 0) continue;
    if (at_calls_.size() > kMostDepths) return doubt();
    for (const StackState& state : at_calls_) pending_.push_back({at, state});
    return;
  }
}

}  // namespace

StackArguments reads_stack_arguments(const CodeRange& function, const CodeAround& around) {
  if (function.bytes.empty()) return StackArguments::unknown;
  return Walk(function, around).run();
}

}  // namespace refhist
