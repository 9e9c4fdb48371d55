#include "discover/callers.h"

#include <cstring>
#include <vector>

#include "families/function_pattern.h"

namespace refhist {

namespace {

constexpr std::uint8_t kCall = 0xe8;
constexpr std::uint8_t kJump = 0xe9;  // the end of a function that calls another one last
constexpr std::size_t kLength = 5;

}  // namespace

std::string probe_name(const std::string& symbol) {
  return symbol.starts_with("_Z") ? function_part(demangle(symbol)) : symbol;
}

std::set<std::string> callers_of(const Module& module, const FunctionSymbol& function) {
  std::set<std::string> callers;
  for (const Segment& segment : module.segments()) {
    if (!segment.executable || segment.memory_size < kLength) continue;
    std::vector<std::uint8_t> code(segment.memory_size);
    if (!module.read_code(segment.address, code.data(), code.size())) continue;
    for (std::size_t at = 0; at + kLength <= code.size(); ++at) {
      if (code[at] != kCall && code[at] != kJump) continue;
      std::int32_t distance = 0;
      std::memcpy(&distance, &code[at + 1], sizeof distance);
      const Address from = segment.address + at;
      if (from + kLength + static_cast<Address>(std::int64_t{distance}) != function.address) continue;
      const auto caller = module.function_at(from);
      callers.insert(caller ? probe_name(caller->name) : std::string());
    }
  }
  return callers;
}

std::set<std::string> holders_of_copies(const Module& module, const std::string& function) {
  std::set<std::string> holders;
  for (const InlinedCopy& copy : module.inlined_copies(function)) holders.insert(function_part(copy.into));
  return holders;
}

}  // namespace refhist
