#include "x86/code_ways.h"

#include <algorithm>
#include <set>

namespace refhist {

const FileRange* CodeWays::range_of(Address at) const {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const FileRange& range) { return range.contains(at); });
  return found == ranges_.end() ? nullptr : &*found;
}

bool CodeWays::any_from(Address begin, const std::function<Answer(const DecodedInstruction&)>& look) const {
  const InstructionDecoder decoder;
  std::set<Address> seen;
  std::vector<Address> waiting{begin};
  DecodedInstruction instruction;
  while (!waiting.empty()) {
    const Address at = waiting.back();
    waiting.pop_back();
    const FileRange* range = range_of(at);
    if (range == nullptr || !seen.insert(at).second) continue;
    std::vector<std::uint8_t> bytes(std::min<Address>(range->end - at, ZYDIS_MAX_INSTRUCTION_LENGTH));
    if (!module_.read_code(at, bytes.data(), bytes.size()) || !decoder.decode({at, bytes}, at, instruction))
      return true;
    const Answer answer = look(instruction);
    if (answer == Answer::found) return true;
    if (answer == Answer::no_further) continue;
    const auto target = instruction.is_call() ? std::nullopt : instruction.branch_target();
    if (target) waiting.push_back(*target);
    if (instruction.falls_through()) waiting.push_back(instruction.next());
  }
  return false;
}

}  // namespace refhist
