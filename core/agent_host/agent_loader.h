// Brings the agent into a stopped local process: shared memory, code memory near the modules, control page.
// Only system calls run in the program, no code of it, so no lock that it holds matters.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent_host/code_piece.h"
#include "agent_host/program_calls.h"
#include "agent_host/shared_area.h"
#include "port/process_memory.h"

namespace refhist {

/// Runs the calls in the program, in order; false when it could not.
using SystemCallRunner = std::function<bool(std::span<SystemCall> calls)>;

/// The agent in a process. Nothing of it is unmapped there as long as the debugger has the process: threads
/// may stand in it.
struct LoadedAgent {
  std::unique_ptr<SharedArea> area;
  std::vector<CodePiece> pieces;
  std::vector<std::pair<Address, Address>> data;  ///< what is ours and writable in the program
  Address control = 0;
  Address system_call = 0;  ///< a `syscall` instruction
  Address stop = 0;         ///< agent::Config::stop: kStopCode is to be written there
};

/// agent::AskDebugger. The breakpoint is at the first instruction; the debugger answers by where the thread
/// goes on.
constexpr std::array<std::uint8_t, 10> kStopCode{0x90,                                 // nop
                                                 0x31, 0xc0, 0xc3,                     // xor eax, eax; ret
                                                 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3};  // mov eax, 1; ret
constexpr Address kGoOn = 1;    ///< in there: the call goes on
constexpr Address kGoBack = 4;  ///< the thread stands at the function again

class AgentLoader {
 public:
  /// `near`: an address in each group of modules that needs its own code memory. `tid_offset`: of the thread
  /// id from the thread pointer. Nothing when the program has not got far enough yet. Throws Error with the
  /// reason why the agent cannot be there.
  static std::optional<LoadedAgent> load(long pid, const ProcessMemory& memory, const SystemCallRunner& run,
                                         std::span<const Address> near, std::uint32_t tid_offset);
};

}  // namespace refhist
