#include "program_calls.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace refhist {

namespace {
// void call(struct { uint64_t number, arguments[6]; int64_t result; } *it)
constexpr std::array<std::uint8_t, 45> kCaller{
    0x53,                    // push rbx
    0x48, 0x89, 0xfb,        // mov  rbx, rdi
    0x48, 0x8b, 0x03,        // mov  rax, [rbx]
    0x48, 0x8b, 0x7b, 0x08,  // mov  rdi, [rbx + 8]
    0x48, 0x8b, 0x73, 0x10,  // mov  rsi, [rbx + 16]
    0x48, 0x8b, 0x53, 0x18,  // mov  rdx, [rbx + 24]
    0x4c, 0x8b, 0x53, 0x20,  // mov  r10, [rbx + 32]
    0x4c, 0x8b, 0x43, 0x28,  // mov  r8, [rbx + 40]
    0x4c, 0x8b, 0x4b, 0x30,  // mov  r9, [rbx + 48]
    0x0f, 0x05,              // syscall
    0x48, 0x89, 0x43, 0x38,  // mov  [rbx + 56], rax
    0x5b, 0xc3,              // pop  rbx; ret
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
};
static_assert(sizeof(SystemCall) == 64, "the offsets above");
constexpr std::size_t kCallAt = 256;           // of the SystemCall behind the code
constexpr std::uint32_t kTimeout = 5'000'000;  // microseconds

lldb::SBExpressionOptions options() {
  lldb::SBExpressionOptions options;
  options.SetIgnoreBreakpoints(true);
  options.SetUnwindOnError(true);
  options.SetTryAllThreads(false);
  options.SetStopOthers(true);
  options.SetTimeoutInMicroSeconds(kTimeout);
  options.SetSuppressPersistentResult(true);
  options.SetLanguage(lldb::eLanguageTypeC99);
  return options;
}

bool write(lldb::SBProcess& process, lldb::addr_t address, const void* bytes, std::size_t size) {
  lldb::SBError error;
  return process.WriteMemory(address, bytes, size, error) == size && error.Success();
}

bool run_one(lldb::SBProcess& process, lldb::SBThread& thread, lldb::addr_t code, SystemCall& call) {
  constexpr std::int64_t kNotRun = INT64_MIN;
  call.result = kNotRun;
  const lldb::addr_t place = code + kCallAt;
  if (!write(process, place, &call, sizeof call)) return false;
  std::array<char, 128> expression{};
  std::snprintf(expression.data(), expression.size(),
                "((void (*)(unsigned long))0x%" PRIx64 "UL)(0x%" PRIx64 "UL)", code, place);
  thread.GetFrameAtIndex(0).EvaluateExpression(expression.data(), options());
  lldb::SBError error;
  return process.ReadMemory(place + offsetof(SystemCall, result), &call.result, sizeof call.result, error) ==
             sizeof call.result &&
         call.result != kNotRun;
}

// Where the C library's syscall() is: a function of a few instructions without any lock.
lldb::addr_t library_function(lldb::SBProcess& process) {
  lldb::SBTarget target = process.GetTarget();
  for (std::uint32_t i = 0; i < target.GetNumModules(); ++i) {
    lldb::SBModule module = target.GetModuleAtIndex(i);
    const char* name = module.GetFileSpec().GetFilename();
    if (name == nullptr || std::strncmp(name, "libc.", 5) != 0) continue;
    lldb::SBSymbol symbol = module.FindSymbol("syscall", lldb::eSymbolTypeCode);
    if (symbol.IsValid()) return symbol.GetStartAddress().GetLoadAddress(target);
  }
  return LLDB_INVALID_ADDRESS;
}

bool run_in_library(lldb::SBThread& thread, lldb::addr_t function, SystemCall& call) {
  std::array<char, 512> expression{};
  const auto& a = call.arguments;
  std::snprintf(expression.data(), expression.size(),
                "((long (*)(long, long, long, long, long, long, long))0x%" PRIx64 "UL)((long)%" PRIu64
                "UL, (long)%" PRIu64 "UL, (long)%" PRIu64 "UL, (long)%" PRIu64 "UL, (long)%" PRIu64
                "UL, (long)%" PRIu64 "UL, (long)%" PRIu64 "UL)",
                function, call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
  lldb::SBValue value = thread.GetFrameAtIndex(0).EvaluateExpression(expression.data(), options());
  lldb::SBError error;
  call.result = value.GetValueAsSigned(error);
  return value.IsValid() && value.GetError().Success() && error.Success() && call.result != -1;
}

// Without memory there is no place for our own code.
bool run_all_in_library(lldb::SBProcess& process, lldb::SBThread& thread, std::span<SystemCall> calls) {
  const lldb::addr_t function = library_function(process);
  if (function == LLDB_INVALID_ADDRESS) return false;
  return std::all_of(calls.begin(), calls.end(),
                     [&](SystemCall& call) { return run_in_library(thread, function, call); });
}
}  // namespace

bool run_system_calls(lldb::SBProcess& process, lldb::SBThread& thread, std::span<SystemCall> calls) {
  if (!thread.IsValid()) return false;
  lldb::SBError error;
  const lldb::addr_t code = process.AllocateMemory(
      kPage, lldb::ePermissionsReadable | lldb::ePermissionsWritable | lldb::ePermissionsExecutable, error);
  // While the main thread waits in a system call the server answers with whatever is in its register.
  if (error.Fail() || code == LLDB_INVALID_ADDRESS || code < kPage || code % kPage != 0)
    return run_all_in_library(process, thread, calls);
  bool done = write(process, code, kCaller.data(), kCaller.size());
  for (SystemCall& call : calls) done = done && run_one(process, thread, code, call);
  process.DeallocateMemory(code);
  return done;
}

}  // namespace refhist
