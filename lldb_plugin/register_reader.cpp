#include "register_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace refhist {

namespace {
constexpr std::array<std::string_view, kRegisterCount> kNames = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                                 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                                 "r12", "r13", "r14", "r15", "rip"};

// lldb-server's numbers for the same registers.
constexpr std::array<unsigned, kRegisterCount> kServerOrder = {
    kRax, kRbx, kRcx, kRdx, kRdi, kRsi, kRbp, kRsp, kR8, kR9, kR10, kR11, kR12, kR13, kR14, kR15, kRip};

unsigned register_named(const char* name) {
  for (unsigned i = 0; name != nullptr && i < kNames.size(); ++i) {
    if (kNames[i] == name) return i;
  }
  return kRegisterCount;
}

// Eight bytes in memory order, two digits each.
std::optional<Address> little_endian(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 16 || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return __builtin_bswap64(value);
}

/// The register that a field of a stop reply begins with, as lldb-server numbers them: two hexadecimal
/// digits.
unsigned register_in(std::string_view field) {
  unsigned number = 0;
  const auto [end, error] =
      std::from_chars(field.data(), field.data() + std::min<std::size_t>(field.size(), 2), number, 16);
  const bool whole = error == std::errc() && end == field.data() + 2;
  return whole && number < kServerOrder.size() ? kServerOrder[number] : kRegisterCount;
}

// "…;00:0100000000000000;01:…;": hexadecimal number of the register, and its bytes.
std::optional<Registers> parse_stop_reply(std::string_view reply) {
  constexpr std::size_t kFieldSize = 3 + 16;
  Registers registers;
  unsigned found = 0;
  for (std::size_t end = reply.find(';'); end != std::string_view::npos; end = reply.find(';')) {
    const std::string_view field = reply.substr(0, end);
    reply.remove_prefix(end + 1);
    if (field.size() != kFieldSize || field[2] != ':') continue;
    const unsigned which = register_in(field);
    const auto value = little_endian(field.substr(3));
    if (which == kRegisterCount || !value) continue;
    registers[which] = *value;
    ++found;
  }
  if (found != kRegisterCount) return std::nullopt;
  return registers;
}

std::optional<Registers> ask_server(lldb::SBDebugger& debugger, lldb::SBThread& thread) {
  const char* plugin = thread.GetProcess().GetPluginName();
  if (plugin == nullptr || std::string_view(plugin) != "gdb-remote") return std::nullopt;
  // The command goes to the selected target's process.
  if (debugger.GetSelectedTarget() != thread.GetProcess().GetTarget()) return std::nullopt;
  const std::string command =
      fmt::format("process plugin packet send qThreadStopInfo{:x}", thread.GetThreadID());
  lldb::SBCommandReturnObject result;
  debugger.GetCommandInterpreter().HandleCommand(command.c_str(), result);
  const char* output = result.GetOutput();
  return output == nullptr ? std::nullopt : parse_stop_reply(output);
}

std::optional<Registers> ask_lldb(lldb::SBFrame& frame) {
  Registers registers;
  unsigned found = 0;
  // The general purpose set is the first one.
  lldb::SBValue general = frame.GetRegisters().GetValueAtIndex(0);
  const std::uint32_t count = general.GetNumChildren();
  for (std::uint32_t i = 0; i < count && found < kRegisterCount; ++i) {
    lldb::SBValue value = general.GetChildAtIndex(i);
    const unsigned which = register_named(value.GetName());
    if (which == kRegisterCount) continue;
    lldb::SBError error;
    registers[which] = value.GetValueAsUnsigned(error);
    if (error.Fail()) return std::nullopt;
    ++found;
  }
  if (found != kRegisterCount) return std::nullopt;
  return registers;
}
}  // namespace

std::optional<Registers> read_registers(lldb::SBDebugger& debugger, lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (!frame.IsValid()) return std::nullopt;
  const auto registers = ask_server(debugger, thread);
  if (registers && registers->pc() == frame.GetPC() && registers->sp() == frame.GetSP()) return registers;
  return ask_lldb(frame);
}

bool write_registers(lldb::SBDebugger& debugger, lldb::SBThread& thread, const Registers& registers) {
  const auto now = read_registers(debugger, thread);
  if (!now) return false;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  for (unsigned i = 0; i < kRip; ++i) {
    if (registers[i] == (*now)[i]) continue;
    lldb::SBError error;
    lldb::SBValue value = frame.FindRegister(kNames[i].data());
    if (!value.SetValueFromCString(fmt::format("{:#x}", registers[i]).c_str(), error)) return false;
  }
  return frame.SetPC(registers.pc());  // this alone has LLDB look at the frames anew
}

std::vector<Address> read_vector_words(lldb::SBThread& thread) {
  std::vector<Address> words;
  lldb::SBValueList sets = thread.GetFrameAtIndex(0).GetRegisters();
  for (std::uint32_t i = 0; i < sets.GetSize(); ++i) {
    lldb::SBValue set = sets.GetValueAtIndex(i);
    for (std::uint32_t j = 0; j < set.GetNumChildren(); ++j) {
      lldb::SBValue value = set.GetChildAtIndex(j);
      const std::string_view name = value.GetName() == nullptr ? "" : value.GetName();
      if (!name.starts_with("xmm") && !name.starts_with("ymm")) continue;
      lldb::SBData data = value.GetData();
      for (std::size_t at = 0; at + sizeof(Address) <= data.GetByteSize(); at += sizeof(Address)) {
        lldb::SBError error;
        const Address word = data.GetUnsignedInt64(error, at);
        if (error.Success() && word != 0) words.push_back(word);
      }
    }
  }
  return words;
}

}  // namespace refhist
