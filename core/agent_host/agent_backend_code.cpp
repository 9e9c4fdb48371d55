// The agent's jumps stand in the program's own code: what they cover, and how the program is left without
// them.
#include <fmt/core.h>

#include <algorithm>

#include "agent_host/agent_backend.h"
#include "agent_host/debugger_stops.h"
#include "agent_host/detached_process.h"
#include "base/text.h"
#include "patching/relocator.h"

namespace refhist {

std::vector<CodeBytes> AgentBackend::covered_code(Address begin, Address end) const {
  std::vector<CodeBytes> code;
  const auto add = [&](const Patch& patch, Address stub) {
    if (patch.at >= end || patch.at + kJumpSize <= begin) return;
    const auto jump = jump_bytes(patch.at, stub);
    code.push_back({patch.at,
                    {jump.begin(), jump.end()},
                    {patch.original.begin(), patch.original.begin() + jump.size()}});
  };
  for (const auto& [id, armed] : armed_) add(armed.patch, armed.stub.begin);
  if (!agent_) return code;
  for (const Hook& hook : agent_->hooks) add(hook.patch, hook.stub);
  return code;
}

bool AgentBackend::covers_line(const DebuggerPort& port, SiteId id) const {
  const auto armed = armed_.find(id);
  const auto reusable = reusable_.find(id);
  const LoadedModule* module = context_.modules.get(context_.sites.get(id).module);
  if ((armed == armed_.end() && reusable == reusable_.end()) || module == nullptr) return false;
  const Address jump = (armed == armed_.end() ? reusable : armed)->second.patch.at;
  const std::vector<Address> stops = line_stops(port, *module, jump);
  return std::any_of(stops.begin(), stops.end(),
                     [&](Address stop) { return jump < stop && stop - jump < kJumpSize; });
}

std::string AgentBackend::leave_detached(long pid) {
  if (!agent_) return {};
  const std::string code_stays = write_code_of_detached(pid, covered_code(0, ~Address{0}));
  // After the code: a program that runs fills the rings again while they are read. It stood stopped when the
  // debugger let go of it, and what it did since is past the end of the history.
  replay_until(stopped_at_);
  for (CodePiece& piece : agent_->loaded.pieces) piece.switch_off();
  agent_->drain->take(context_.recorder.next_event());
  const LoadedAgent left = let_go();  // nobody looks into the rings any more
  if (!code_stays.empty())            // and calls still go through stubs
    return fmt::format("the original code of process {} could not be restored: {}", pid, code_stays);
  const std::string why_not = release_memory_of_detached(pid, left);
  if (why_not.empty()) return "";
  return fmt::format("the agent's memory stays mapped in process {}: {}", pid, why_not);
}

void AgentBackend::leave_parent(DebuggerPort& port) {
  if (!agent_) return;
  replay_until(forked_at_);
  disarm_all(port);
  for (CodePiece& piece : agent_->loaded.pieces) piece.switch_off();
  forget();
}

void AgentBackend::publish_sizes() {
  BlockSizes& sizes = context_.recorder.block_sizes();
  if (!sizes.changed()) return;
  static_assert(BlockSizes::kGranule == agent::kSizeGranule && BlockSizes::kLargest == agent::kLargestChosen);
  const SharedArea& area = *agent_->loaded.area;
  for (std::size_t i = 0; i < BlockSizes::kClasses; ++i) {
    area.set_plain(i, sizes.is_plain(i));
    if (sizes.holds(i)) area.note_object_size(i);
  }
}

std::string AgentBackend::quarantine_gap() const {
  const QuarantineSize& asked = context_.recorder.options().quarantine;
  if (asked.bytes == 0) return {};
  if (!withholds_) return "nothing is in quarantine: free is not recorded inside the program";
  if (!agent_) return gap_before_;
  if (!agent_->loaded.pieces.empty() && agent_->loaded.pieces.front().config().mallopt == 0)
    return "nothing is in quarantine: the C library has no mallopt, which has it map blocks";
  const SharedArea& area = *agent_->loaded.area;
  if (!area.confined().is(0)) return "quarantine has ended: the program filters its system calls";
  if (!area.withheld_enough().is(0)) {
    const std::uint64_t blocks = area.withheld().claimed();
    const std::string why =
        blocks >= asked.most_blocks
            ? fmt::format("{} blocks had been freed", asked.most_blocks)
            : fmt::format("it had cost {} s, with {} blocks freed", asked.most_time_ns / 1000000000, blocks);
    return fmt::format("quarantine has ended: {} (--quarantine SIZE goes on)", why);
  }
  const std::uint64_t without = area.turned_away().claimed();
  if (without == 0) return {};
  return fmt::format("quarantine had no room for {} of sizes that objects have: too many were in use at once",
                     plural(without, "block"));
}

bool AgentBackend::withholds(Address address) const {
  return agent_ && agent_->loaded.area->may_be_withheld(address);
}

}  // namespace refhist
