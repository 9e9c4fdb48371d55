#include "register_reader.h"

#include <cstring>
#include <string_view>

namespace refhist {

namespace {
constexpr std::array<std::string_view, kRegisterCount> kNames = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                                 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                                 "r12", "r13", "r14", "r15", "rip"};

unsigned register_named(const char* name) {
  for (unsigned i = 0; name != nullptr && i < kNames.size(); ++i) {
    if (kNames[i] == name) return i;
  }
  return kRegisterCount;
}
}  // namespace

std::optional<Registers> read_registers(lldb::SBFrame& frame) {
  Registers registers;
  unsigned found = 0;
  // The general purpose set is the first one, and the 17 stand at its beginning.
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

}  // namespace refhist
