#include "sites/memory_changes.h"

#include <algorithm>

#include "x86/value_trail.h"
#include "x86/zero_test.h"

namespace refhist {

namespace {

std::optional<std::int64_t> told_step(const CounterInstruction& change, const RegisterDistances& distances) {
  using Kind = CounterInstruction::Kind;
  const bool wide = change.size == sizeof(std::int32_t) || change.size == sizeof(std::int64_t);
  if (change.source == CounterInstruction::kNoRegister || !wide) return std::nullopt;
  if (change.kind == Kind::store && change.index == CounterInstruction::kNoRegister &&
      change.base != CounterInstruction::kNoRegister)
    return distances.more_than(change.source, change.base, change.displacement);
  const auto constant = change.kind == Kind::add ? distances.constant(change.source) : std::nullopt;
  return constant && change.negative ? std::optional(-*constant) : constant;
}

std::optional<std::int64_t> stored(const CounterInstruction& change, const RegisterDistances& distances) {
  const bool from_register = change.source != CounterInstruction::kNoRegister && !change.opaque;
  return change.kind == CounterInstruction::Kind::store && from_register ? distances.constant(change.source)
                                                                         : std::nullopt;
}

std::optional<std::int64_t> exchanged_step(const CounterInstruction& change,
                                           const RegisterDistances& distances) {
  const bool told = change.kind == CounterInstruction::Kind::compare_exchange &&
                    change.source != CounterInstruction::kNoRegister &&
                    change.base != CounterInstruction::kNoRegister &&
                    change.index == CounterInstruction::kNoRegister;
  if (!told) return std::nullopt;
  const auto above = distances.more_than_rax(change.source);  // rax is what the memory must hold
  return above ? above : distances.more_than(change.source, change.base, change.displacement);
}

/// What is known of its base register; of an operand without one there is nothing.
void note_base(MemoryChange& change, const RegisterDistances& distances) {
  const std::uint8_t base = change.instruction.base;
  if (base == CounterInstruction::kNoRegister) return;
  change.distance = distances.of(base);
  change.base = distances.loaded(base);
}

}  // namespace

void MemoryChanges::Walk::arrive(Address at, const RegisterDistances& distances) {
  if (!code_.contains(at)) return;
  const auto [known, first] = arrivals_.try_emplace(at, distances);
  if (first || known->second.meet(distances)) waiting_.insert(at);
}

void MemoryChanges::Walk::add(const DecodedInstruction& instruction, const RegisterDistances& distances) {
  if (const auto target = instruction.is_call() ? instruction.entered() : std::nullopt) {
    calls_.insert_or_assign(instruction.address,
                            DirectCall{instruction.address, instruction.raw.length, *target,
                                       distances.of(static_cast<std::uint8_t>(kRdi)),
                                       distances.constant(static_cast<std::uint8_t>(kRsi))});
  }
  auto change = CounterInstruction::of(instruction);
  if (!change) return;
  change->told_step = told_step(*change, distances);
  MemoryChange found{*change, std::nullopt, exchanged_step(*change, distances), stored(*change, distances)};
  note_base(found, distances);
  changes_.insert_or_assign(instruction.address, found);
}

// A way on which no more is known than on an earlier one takes back what that has told.
void MemoryChanges::Walk::add_test(const DecodedInstruction& jump) {
  if (jump.raw.meta.category != ZYDIS_CATEGORY_COND_BR || passed_.empty()) return;
  const Passed* at = &passed_[0];
  auto found = zero_test(at->instruction, jump, at->distances);
  if (!found && passed_.size() > 1) {
    found = zero_test(passed_[1].instruction, at->instruction, jump);
    at = &passed_[1];
  }
  if (!found) {
    const auto known = changes_.find(passed_[0].instruction.address);
    if (known != changes_.end() && known->second.zero_side != 0) changes_.erase(known);
    return;
  }
  MemoryChange test{found->instruction, std::nullopt, std::nullopt, std::nullopt, found->zero_side};
  note_base(test, at->distances);
  changes_.insert_or_assign(found->instruction.address, test);
}

// What holds is copied for those alone that a jump may look back at.
void MemoryChanges::Walk::pass(const DecodedInstruction& instruction, const RegisterDistances& distances) {
  if (!may_be_tested(instruction)) return passed_.clear();
  if (passed_.size() == 2) passed_.pop_back();
  passed_.insert(passed_.begin(), {instruction, distances});
}

void MemoryChanges::Walk::follow_from(Address at) {
  RegisterDistances distances = arrivals_.at(at);
  passed_.clear();
  DecodedInstruction instruction;
  for (const Address begin = at; decoder_.decode(code_, at, instruction); at = instruction.next()) {
    // Where another way comes in, what holds on both is followed from there.
    if (at != begin && arrivals_.contains(at)) return arrive(at, distances);
    seen_.insert(at);
    add(instruction, distances);
    add_test(instruction);
    pass(instruction, distances);
    distances.follow(instruction, instruction.is_call() ? clobbered_.of_call(instruction) : 0);
    const auto target = instruction.is_call() ? std::nullopt : instruction.branch_target();
    if (target) arrive(*target, distances);
    if (!instruction.falls_through()) return;
  }
}

void MemoryChanges::Walk::run() {
  const auto work = [&] {
    while (!waiting_.empty()) follow_from(waiting_.extract(waiting_.begin()).value());
  };
  arrive(code_.address, {});
  work();
  // What only jump tables and exceptions lead to: nothing is known there.
  DecodedInstruction instruction;
  for (Address at = code_.address; decoder_.decode(code_, at, instruction); at = instruction.next()) {
    if (seen_.contains(at) || instruction.is_padding()) continue;
    arrive(at, {});
    work();
  }
  for (auto& [address, change] : changes_) found_.changes.push_back(change);
  for (auto& [address, call] : calls_) found_.calls.push_back(call);
}

std::optional<std::int64_t> MemoryChanges::above_at(const CounterInstruction& instruction, unsigned reg,
                                                    Address later) const {
  constexpr std::size_t kFar = 256;  // bytes: an inlined copy is short
  if (later - instruction.address > kFar) return std::nullopt;
  std::vector<std::uint8_t> bytes(later - instruction.address);
  if (!module_.read_code(instruction.address, bytes.data(), bytes.size())) return std::nullopt;
  const CodeRange code{instruction.address, bytes};
  const InstructionDecoder decoder;
  DecodedInstruction next;
  ValueTrail trail(instruction.base);
  Address at = instruction.address;
  for (; at < later && decoder.decode(code, at, next); at = next.next()) {
    if (!next.falls_through()) return std::nullopt;
    trail.follow(next);
  }
  return at == later ? trail.above(reg) : std::nullopt;
}

const MemoryChanges::Known& MemoryChanges::known(const FileRange& range) {
  FileRange function = range;
  if (const auto symbol = module_.function_at(range.begin)) {
    function = {symbol->address, std::max(range.end, symbol->address + symbol->size)};
  }
  const auto [entry, added] = known_.try_emplace(function.begin);
  if (!added) return entry->second;
  std::vector<std::uint8_t> bytes(function.end - function.begin);
  if (module_.read_code(function.begin, bytes.data(), bytes.size()))
    Walk({function.begin, bytes}, clobbered_, entry->second).run();
  return entry->second;
}

}  // namespace refhist
