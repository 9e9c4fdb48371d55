#include "x86/branch_targets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace refhist {
namespace {

constexpr unsigned kBucketBits = 6;  // targets of 64 bytes in a row are found together
constexpr Address kShortReach = 128;
constexpr std::size_t kLongestTable = 4096;
constexpr Address kFarthestStart = 1U << 16;  // a hit is not decoded away from further off than this

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool ends_like_long_branch(const std::uint8_t* displacement, std::size_t before) {
  if (before >= 1 && (displacement[-1] == 0xe8 || displacement[-1] == 0xe9)) return true;
  if (before < 2) return false;
  const bool condition = displacement[-2] == 0x0f && (displacement[-1] & 0xf0) == 0x80;
  const bool transaction = displacement[-2] == 0xc7 && displacement[-1] == 0xf8;
  return condition || transaction;
}

bool ends_like_lea(const std::uint8_t* displacement, std::size_t before) {
  return before >= 2 && displacement[-2] == 0x8d && (displacement[-1] & 0xc7) == 0x05;
}

bool like_short_branch(std::uint8_t opcode) {
  return opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0;
}

const CodeRange* holding(const std::vector<CodeRange>& ranges, Address at) {
  for (const CodeRange& range : ranges) {
    if (range.contains(at)) return &range;
  }
  return nullptr;
}

}  // namespace

BranchTargets::BranchTargets(std::vector<CodeRange> code, std::vector<CodeRange> data,
                             std::vector<Address> starts, Address bias)
    : code_(std::move(code)), data_(std::move(data)), starts_(std::move(starts)), bias_(bias) {
  find_span();
  for (const CodeRange& range : code_) scan_code(range);
  read_tables();
  scan_pointers();
  sort_found();
}

void BranchTargets::find_span() {
  lowest_ = ~Address{0};
  for (const auto* ranges : {&code_, &data_}) {
    for (const CodeRange& range : *ranges) {
      lowest_ = std::min(lowest_, range.address);
      highest_ = std::max(highest_, range.end());
    }
  }
}

const CodeRange* BranchTargets::code_at(Address address) const { return holding(code_, address); }

void BranchTargets::scan_code(const CodeRange& range) {
  const std::uint8_t* bytes = range.bytes.data();
  const Address span = highest_ - lowest_;
  for (std::size_t i = 1; i + 4 <= range.bytes.size(); ++i) {
    const Address target =
        range.address + i + 4 + static_cast<Address>(std::int64_t{load<std::int32_t>(bytes + i)});
    if (target - lowest_ >= span) continue;
    if (ends_like_long_branch(bytes + i, i)) {
      note(target, range.address + i, Kind::branch);
    } else if (ends_like_lea(bytes + i, i)) {
      if (code_at(target) != nullptr) note(target, range.address + i, Kind::address_taken);
      tables_.emplace_back(target, range.address + i);
    }
  }
}

void BranchTargets::note(Address target, Address source, Kind kind) {
  found_.push_back(
      {static_cast<std::uint32_t>(target - lowest_), static_cast<std::uint32_t>(source - lowest_), kind});
}

void BranchTargets::read_tables() {
  std::sort(tables_.begin(), tables_.end());
  Address last = 0;
  for (const auto& [table, source] : tables_) {
    if (table != last) read_table(table, source);
    last = table;
  }
  tables_ = {};
}

void BranchTargets::read_table(Address table, Address source) {
  const CodeRange* range = holding(data_, table);
  if (range == nullptr) range = code_at(table);
  if (range == nullptr) return;
  const auto bytes = range->from(table).bytes;
  for (std::size_t i = 0; i < kLongestTable && (i + 1) * 4 <= bytes.size(); ++i) {
    const Address target =
        table + static_cast<Address>(std::int64_t{load<std::int32_t>(bytes.data() + i * 4)});
    if (code_at(target) == nullptr) return;
    note(target, source, Kind::table);
  }
}

void BranchTargets::scan_pointers() {
  for (const CodeRange& range : data_) {
    const Address first = (range.address + 7) & ~Address{7};
    for (Address at = first; at + 8 <= range.end(); at += 8) {
      const Address target = load<Address>(range.bytes.data() + (at - range.address)) + bias_;
      if (target - lowest_ < highest_ - lowest_ && code_at(target) != nullptr)
        note(target, at, Kind::pointer);
    }
  }
}

/// By bucket, in two passes over what was found: there are as many as there are branches in the module.
void BranchTargets::sort_found() {
  buckets_.assign(((highest_ - std::min(lowest_, highest_)) >> kBucketBits) + 2, 0);
  for (const Found& found : found_) ++buckets_[(found.target >> kBucketBits) + 1];
  for (std::size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
  std::vector<Found> sorted(found_.size());
  std::vector<std::uint32_t> place(buckets_.begin(), buckets_.end() - 1);
  for (const Found& found : found_) sorted[place[found.target >> kBucketBits]++] = found;
  found_ = std::move(sorted);
}

std::string BranchTargets::why_not_covered(Address first, Address last, const CodeRange& own) const {
  if (code_at(first) == nullptr) return "outside of the code that was scanned";
  const auto start = std::lower_bound(starts_.begin(), starts_.end(), first);
  if (start != starts_.end() && *start < last) {
    return fmt::format("another function begins at {:#x} in the patched bytes", *start);
  }
  std::string reason = why_not_long(first, last, own);
  return reason.empty() ? why_not_short(first, last, own) : reason;
}

std::string BranchTargets::why_not_long(Address first, Address last, const CodeRange& own) const {
  for (Address bucket = (first - lowest_) >> kBucketBits; bucket <= (last - 1 - lowest_) >> kBucketBits;
       ++bucket) {
    for (std::uint32_t i = buckets_[bucket]; i < buckets_[bucket + 1]; ++i) {
      const Address target = found_[i].target + lowest_;
      const Address source = found_[i].source + lowest_;
      if (target < first || target >= last) continue;
      switch (found_[i].kind) {
        case Kind::branch:
          if (own.contains(source) || !confirmed(source, target)) break;
          return fmt::format("a branch at {:#x} goes to {:#x} in the patched bytes", source, target);
        case Kind::address_taken:
          if (!confirmed(source, target)) break;
          return fmt::format("the code at {:#x} takes the address {:#x} in the patched bytes", source,
                             target);
        case Kind::table:
          return fmt::format("a jump table of the code at {:#x} leads to {:#x} in the patched bytes", source,
                             target);
        case Kind::pointer:
          return fmt::format("a pointer at {:#x} leads to {:#x} in the patched bytes", source, target);
      }
    }
  }
  return {};
}

std::string BranchTargets::why_not_short(Address first, Address last, const CodeRange& own) const {
  const CodeRange& code = *code_at(first);
  const Address low = std::max(code.address, first - std::min(first, kShortReach + 2));
  const Address high = std::min(code.end() - 1, last + kShortReach);
  for (Address at = low; at < high; ++at) {
    const std::uint8_t* bytes = code.bytes.data() + (at - code.address);
    if (!like_short_branch(bytes[0]) || own.contains(at)) continue;
    const Address target = at + 2 + static_cast<Address>(std::int64_t{static_cast<std::int8_t>(bytes[1])});
    if (target < first || target >= last || !confirmed(at + 1, target)) continue;
    return fmt::format("a branch at {:#x} goes to {:#x} in the patched bytes", at, target);
  }
  return {};
}

/// Decodes from the start of the function up to the instruction that holds the displacement. Whatever cannot
/// be decoded counts as a branch.
bool BranchTargets::confirmed(Address source, Address target) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), source);
  if (next == starts_.begin()) return true;
  Address at = *std::prev(next);
  const CodeRange* code = code_at(source);
  if (code == nullptr || !code->contains(at) || source - at > kFarthestStart) return true;
  for (;;) {
    const unsigned length = decoder_.length(*code, at);
    if (length == 0) return true;
    if (at + length > source) break;
    at += length;
  }
  DecodedInstruction instruction;
  if (!decoder_.decode(*code, at, instruction)) return true;
  return instruction.branch_target() == target || instruction.rip_target() == target;
}

}  // namespace refhist
