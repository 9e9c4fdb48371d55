#include "exit_packet.h"

#include <cctype>
#include <string_view>

namespace refhist {

std::optional<bool> ended_by_signal(lldb::SBTarget& target) {
  // The remote protocol says W for an exit and X for a signal, each followed by two hexadecimal digits.
  constexpr std::string_view kRead = "read packet: $";
  lldb::SBCommandReturnObject result;
  target.GetDebugger().GetCommandInterpreter().HandleCommand("process plugin packet history", result, false);
  const char* output = result.Succeeded() ? result.GetOutput() : nullptr;
  const std::string_view text = output == nullptr ? "" : output;
  for (std::size_t at = text.rfind(kRead); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : text.rfind(kRead, at - 1)) {
    const std::string_view packet = text.substr(at + kRead.size(), 3);
    const bool end = packet.size() == 3 && (packet[0] == 'W' || packet[0] == 'X') &&
                     std::isxdigit(static_cast<unsigned char>(packet[1])) != 0;
    if (end) return packet[0] == 'X';
  }
  return std::nullopt;
}

}  // namespace refhist
