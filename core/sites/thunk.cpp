#include "sites/thunk.h"

#include <charconv>
#include <string_view>
#include <vector>

#include "x86/decoded_instruction.h"

namespace refhist {

namespace {

/// "n16_" of "_ZThn16_N6Socket6AddRefEv" is -16.
std::optional<std::int64_t> fixed_adjustment(std::string_view mangled) {
  constexpr std::string_view kFixed = "_ZTh";
  if (!mangled.starts_with(kFixed)) return std::nullopt;
  mangled.remove_prefix(kFixed.size());
  const bool negative = mangled.starts_with('n');
  if (negative) mangled.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(mangled.data(), mangled.data() + mangled.size(), number);
  if (error != std::errc() || end == mangled.data()) return std::nullopt;
  return negative ? -number : number;
}

}  // namespace

std::optional<Thunk> read_thunk(const Module& module, const FunctionSymbol& function) {
  const std::string_view name = function.name;
  if (!name.starts_with("_ZTh") && !name.starts_with("_ZTv") && !name.starts_with("_ZTc"))
    return std::nullopt;
  Thunk thunk{fixed_adjustment(name), false};
  std::vector<std::uint8_t> bytes(function.size);
  if (!module.read_code(function.address, bytes.data(), bytes.size())) return thunk;
  const InstructionDecoder decoder;
  const CodeRange code{function.address, bytes};
  DecodedInstruction instruction;
  // A body of its own may call the function as well, for another object.
  for (Address at = code.address; decoder.decode(code, at, instruction); at = instruction.next()) {
    const auto target = instruction.branch_target();
    const auto there = target && !code.contains(*target) ? module.function_at(*target) : std::nullopt;
    thunk.goes_on = there && there->address == *target && is_thunk_of(name, there->name);
    if (target || !instruction.falls_through()) break;
  }
  return thunk;
}

// What comes after the adjustments in a thunk's mangled name is the function's: "N6Socket6AddRefEv".
bool is_thunk_of(std::string_view thunk, std::string_view function) {
  constexpr std::string_view kMangled = "_Z";
  if (!function.starts_with(kMangled) || function.starts_with("_ZT")) return false;
  return thunk.ends_with(function.substr(kMangled.size()));
}

}  // namespace refhist
