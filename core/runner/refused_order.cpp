#include "runner/refused_order.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <fstream>
#include <utility>
#include <vector>

#include "base/text.h"

namespace refhist {

namespace {

std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

/// "--track FOO" of "refhist track FOO".
std::optional<std::string> option_of(std::string_view order) {
  if (order.rfind("refhist set autosave ", 0) == 0) return std::nullopt;  // refhist-run's own
  constexpr std::array<std::string_view, 2> kVerbs{"track", "set"};
  for (const std::string_view verb : kVerbs) {
    const std::string begin = fmt::format("refhist {} ", verb);
    if (order.rfind(begin, 0) == 0) return fmt::format("--{} {}", verb, order.substr(begin.size()));
  }
  return std::nullopt;
}

/// The script's line that GDB says it failed in: "/…/script.txt:11: Error in sourced command file:".
std::optional<std::string> order_of_gdb(const std::string& script, const std::string& line) {
  const std::string begin = script + ":";
  if (line.rfind(begin, 0) != 0 || line.find(": Error in sourced") == std::string::npos) return std::nullopt;
  std::size_t number = 0;
  std::from_chars(line.data() + begin.size(), line.data() + line.size(), number);
  const std::vector<std::string> orders = lines_of_file(script);
  if (number == 0 || number > orders.size()) return std::nullopt;
  return orders[number - 1];
}

}  // namespace

std::optional<std::string> refused_order(const std::string& script, const std::string& log) {
  constexpr std::string_view kPrompt = "(lldb) ";
  constexpr std::string_view kError = "error: ";
  const std::vector<std::string> lines = lines_of_file(log);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    std::optional<std::string> order = order_of_gdb(script, lines[i]);
    std::string_view message = lines[i + 1];
    if (!order && lines[i].rfind(kPrompt, 0) == 0 && message.rfind(kError, 0) == 0) {
      order = lines[i].substr(kPrompt.size());
      message.remove_prefix(kError.size());
    }
    if (!order) continue;
    if (const auto option = option_of(*order)) return fmt::format("{}: {}", *option, message);
  }
  return std::nullopt;
}

}  // namespace refhist
