// Brings the agent into a stopped local process: shared memory, code memory near the modules, control page.
// Only system calls run in the program, no code of it, so no lock that it holds matters.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "agent_host/code_piece.h"
#include "agent_host/program_calls.h"
#include "agent_host/shared_area.h"
#include "port/process_memory.h"

namespace refhist {

/// Runs the calls in the program, in order; false when it could not.
using SystemCallRunner = std::function<bool(std::span<SystemCall> calls)>;

/// The agent in a process. Nothing of it is ever unmapped there: threads may stand in it.
struct LoadedAgent {
  std::unique_ptr<SharedArea> area;
  std::vector<CodePiece> pieces;
  std::vector<std::pair<Address, Address>> data;  ///< what is ours and writable in the program
  Address control = 0;
  Address stop = 0;  ///< agent::Config::stop: kStopCode is to be written there
};

/// Does nothing, in more than one instruction: a debugger that has stopped at the first goes on with the
/// next.
constexpr std::array<std::uint8_t, 3> kStopCode{0x90, 0x90, 0xc3};  // nop; nop; ret

class AgentLoader {
 public:
  /// `near`: an address in each group of modules that needs its own code memory. `tid_offset`: of the thread
  /// id from the thread pointer. Throws Error with the reason why the agent cannot be there.
  static LoadedAgent load(long pid, const ProcessMemory& memory, const SystemCallRunner& run,
                          std::span<const Address> near, std::uint32_t tid_offset);
};

}  // namespace refhist
