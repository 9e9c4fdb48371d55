// The code between a patched function and the agent: saves what the program has in its registers, calls the
// agent, puts everything back and goes on with the instructions that the patch has covered.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_abi.h"
#include "agent_host/code_piece.h"
#include "patching/patch.h"
#include "x86/counter_instruction.h"

namespace refhist {

/// How far the canonical frame address of the function lies above the stack pointer, from an offset on.
struct FrameRow {
  std::uint32_t offset = 0;  ///< from Stub::begin
  std::int32_t cfa = 0;      ///< bytes above rsp
};

struct Stub {
  Address site = 0;            ///< the agent::Site
  std::int32_t sp_bias = 0;    ///< as in there
  Address begin = 0;           ///< where the patch jumps to
  std::uint32_t at_entry = 0;  ///< offset from begin where it goes on as from the function's entry
  Address end = 0;
  std::uint32_t early_end = 0;      ///< the moved instructions that run before the probe end here
  std::uint32_t relocated = 0;      ///< offset of the moved instructions
  std::uint32_t relocated_end = 0;  ///< first offset behind them and their jump back
  std::uint32_t returned = 0;       ///< offset where a watched call comes back; 0 none
  Address back = 0;  ///< where threads go that shall stop before what is recorded; 0: they never ask
  /// Of the moved instructions: (offset from begin, offset from the function).
  std::vector<std::pair<std::uint32_t, std::uint32_t>> boundaries;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> early;  ///< the same of those before the probe
  std::vector<FrameRow> rows;  ///< for all but the moved instructions behind the probe
  std::vector<PushedRegister> pushed;
  FunctionStart start;            ///< is taken back up to `at_entry`
  bool by_frame_pointer = false;  ///< the canonical frame address is found from rbp, and the rows say nothing
};

/// Who is told when the call returns; then it is made from the stub.
enum class ReturnTo : std::uint8_t { nobody, record, end_of_put };

/// Where an inlined copy's counter is, and by what it changes: told to the agent.
struct CounterOperands {
  CounterInstruction instruction;
  Address bias = 0;  ///< of the module
};

/// Writes the stub into the piece. Nothing and the reason when an instruction cannot be moved there or the
/// piece is full.
std::optional<Stub> write_stub(CodePiece& piece, const agent::Site& site, const Patch& whole,
                               ReturnTo returns, const std::optional<CounterOperands>& counter,
                               std::string& why_not);

/// A stub that asks the agent first: unless `handler` answers 0 it has done the work, and the caller is told
/// 0.
std::optional<Stub> write_hook(CodePiece& piece, Address handler, const Patch& patch, std::string& why_not);

}  // namespace refhist
