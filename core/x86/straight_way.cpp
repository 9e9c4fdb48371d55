#include "x86/straight_way.h"

#include <algorithm>
#include <map>
#include <optional>

namespace refhist {

namespace {

constexpr std::size_t kLongestWay = 1000;            // instructions
constexpr std::size_t kLargestFunction = 1U << 18U;  // bytes

/// The instructions of one function, and from where each of them is jumped to.
class Function {
 public:
  /// False when it cannot be read.
  bool read(const Module& module, Address inside) {
    const auto symbol = module.function_at(inside);
    if (!symbol || symbol->size == 0 || symbol->size > kLargestFunction) return false;
    std::vector<std::uint8_t> bytes(symbol->size);
    if (!module.read_code(symbol->address, bytes.data(), bytes.size())) return false;
    const CodeRange range{symbol->address, bytes};
    const InstructionDecoder decoder;
    DecodedInstruction instruction;
    for (Address at = range.address; at < range.end(); at = instruction.next()) {
      if (!decoder.decode(range, at, instruction)) return false;
      add(instruction, range);
    }
    return true;
  }

  [[nodiscard]] std::optional<std::size_t> index_of(Address address) const {
    const auto found = indexes_.find(address);
    return found == indexes_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::optional<std::size_t> ending_at(Address address) const {
    const auto next = indexes_.lower_bound(address);
    const std::size_t index = next == indexes_.end() ? instructions_.size() : next->second;
    return index != 0 && instructions_[index - 1].next() == address ? std::optional(index - 1) : std::nullopt;
  }
  [[nodiscard]] const DecodedInstruction& at(std::size_t index) const { return instructions_[index]; }

  /// The only one that control can have come to this one from.
  [[nodiscard]] std::optional<std::size_t> before(std::size_t index) const {
    const auto [first, last] = jumps_.equal_range(instructions_[index].address);
    const bool falls = index != 0 && instructions_[index - 1].falls_through();
    if (first == last) return falls ? std::optional(index - 1) : std::nullopt;
    const bool only_one = std::next(first) == last && !falls && index != 0 && !has_table_;
    return only_one ? std::optional(first->second) : std::nullopt;
  }
  [[nodiscard]] bool is_jumped_to(std::size_t index) const {
    return jumps_.contains(instructions_[index].address);
  }

 private:
  void add(const DecodedInstruction& instruction, const CodeRange& range) {
    indexes_.emplace(instruction.address, instructions_.size());
    const auto target = instruction.is_call() ? std::nullopt : instruction.branch_target();
    if (target && range.contains(*target)) jumps_.emplace(*target, instructions_.size());
    has_table_ |= instruction.is_indirect_jump() && !instruction.is_call();
    instructions_.push_back(instruction);
  }

  std::vector<DecodedInstruction> instructions_;
  std::map<Address, std::size_t> indexes_;
  std::multimap<Address, std::size_t> jumps_;  // by target
  bool has_table_ = false;
};

StraightWay way_to(const Function& function, std::size_t end) {
  StraightWay way;
  std::optional<std::size_t> at = end;
  std::size_t first = end;
  while (way.instructions.size() < kLongestWay && (at = function.before(first))) {
    first = *at;
    way.instructions.push_back(function.at(first));
  }
  std::reverse(way.instructions.begin(), way.instructions.end());
  way.from_entry = first == 0 && !function.is_jumped_to(0);
  return way;
}

}  // namespace

StraightWay straight_way(const Module& module, Address end) {
  Function function;
  if (!function.read(module, end)) return {};
  const auto index = function.index_of(end);
  return index ? way_to(function, *index) : StraightWay{};
}

StraightWay straight_way_through(const Module& module, Address behind) {
  Function function;
  if (!function.read(module, behind - 1)) return {};
  const auto last = function.ending_at(behind);
  if (!last) return {};
  StraightWay way = way_to(function, *last);
  way.instructions.push_back(function.at(*last));
  return way;
}

StraightWay straight_way_through_call(const Module& module, Address return_address) {
  StraightWay way = straight_way_through(module, return_address);
  return !way.instructions.empty() && way.instructions.back().is_call() ? way : StraightWay();
}

}  // namespace refhist
