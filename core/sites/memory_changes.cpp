#include "sites/memory_changes.h"

#include <algorithm>

namespace refhist {

void MemoryChanges::Walk::arrive(Address at, const RegisterDistances& distances) {
  if (!code_.contains(at)) return;
  const auto [known, first] = arrivals_.try_emplace(at, distances);
  if (first || known->second.meet(distances)) waiting_.insert(at);
}

void MemoryChanges::Walk::add(const DecodedInstruction& instruction, const RegisterDistances& distances) {
  const auto change = CounterInstruction::of(instruction);
  if (!change) return;
  const bool absolute = change->base == CounterInstruction::kNoRegister;
  changes_.insert_or_assign(instruction.address,
                            MemoryChange{*change, absolute ? std::nullopt : distances.of(change->base)});
}

void MemoryChanges::Walk::follow_from(Address at) {
  RegisterDistances distances = arrivals_.at(at);
  DecodedInstruction instruction;
  for (const Address begin = at; decoder_.decode(code_, at, instruction); at = instruction.next()) {
    // Where another way comes in, what holds on both is followed from there.
    if (at != begin && arrivals_.contains(at)) return arrive(at, distances);
    seen_.insert(at);
    add(instruction, distances);
    distances.follow(instruction);
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
  for (auto& [address, change] : changes_) found_.push_back(change);
}

const std::vector<MemoryChange>& MemoryChanges::around(const FileRange& range) {
  FileRange function = range;
  if (const auto symbol = module_.function_at(range.begin)) {
    function = {symbol->address, std::max(range.end, symbol->address + symbol->size)};
  }
  const auto [entry, added] = known_.try_emplace(function.begin);
  if (!added) return entry->second;
  std::vector<std::uint8_t> bytes(function.end - function.begin);
  if (module_.read_code(function.begin, bytes.data(), bytes.size()))
    Walk({function.begin, bytes}, entry->second).run();
  return entry->second;
}

}  // namespace refhist
