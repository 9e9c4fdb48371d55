#include "agent_host/agent_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "agent_host/process_layout.h"
#include "agent_host/program_calls.h"
#include "base/error.h"
#include "base/text.h"
#include "patching/relocator.h"
#include "patching/stack_arguments.h"

namespace refhist {

namespace {
constexpr std::uint32_t kFrames = 64;
constexpr std::uint64_t kUnsizedFunction = 64;  // bytes that are looked at when the size is not known
constexpr std::uint64_t kAfter = 16;            // bytes behind a function that may be padding

std::vector<std::uint8_t> read_code(const Module& module, Address address, std::uint64_t size) {
  std::vector<std::uint8_t> bytes(size);
  while (!bytes.empty() && !module.read_code(address, bytes.data(), bytes.size())) bytes.resize(bytes.size() / 2);
  return bytes;
}

// Where the program's own groups of modules lie: the executable, and the libraries.
std::vector<Address> groups(const std::vector<const LoadedModule*>& modules) {
  std::vector<Address> near;
  for (const LoadedModule* module : modules) {
    const bool reached = std::any_of(near.begin(), near.end(), [&](Address other) {
      return std::max(other, module->begin) - std::min(other, module->begin) < (Address{1} << 30U);
    });
    if (!reached) near.push_back(module->begin);
  }
  return near;
}
}  // namespace

std::optional<std::uint32_t> AgentBackend::thread_id_offset() const {
  // The C library tells libthread_db there: size in bits, count, offset.
  for (const LoadedModule* module : context_.modules.loaded()) {
    const auto symbol = module->module->data_symbol("_thread_db_pthread_tid");
    std::array<std::uint32_t, 3> field{};
    if (symbol && module->module->read_code(*symbol, field.data(), sizeof field) && field[0] == 32) return field[2];
  }
  return std::nullopt;
}

bool AgentBackend::attach(DebuggerPort& port, const ProcessInfo& process, bool tracer_here) {
  if (agent_ || !why_not_.empty()) return agent_.has_value();
  try {
    if (!process.local) fail("the process is not on this machine");
    const auto tid_offset = thread_id_offset();
    if (!tid_offset) return false;
    const ProcessMemory memory(port, process);
    const std::vector<ThreadInfo> threads = port.threads();
    if (threads.empty()) fail("the process has no thread");
    const long tid = threads.front().tid;
    const auto instruction = ProcessLayout(process.pid).system_call_instruction(memory);
    const SystemCallRunner run = [&](std::span<SystemCall> calls) {
      if (tracer_here && instruction) return run_system_calls_by_ptrace(tid, *instruction, calls);
      return port.run_system_calls(tid, calls);
    };
    Agent agent;
    agent.loaded = AgentLoader::load(process.pid, memory, run, groups(context_.modules.loaded()), *tid_offset);
    for (CodePiece& piece : agent.loaded.pieces) piece.set_stacks(kFrames);
    const std::uint32_t enabled = 1;
    if (!port.write_memory(agent.loaded.control, &enabled, sizeof enabled)) {
      fail("{} does not write the program's memory", port.name());
    }
    agent.drain = std::make_unique<EventDrain>(*agent.loaded.area, process.pid);
    agent.replay = std::make_unique<Replay>(context_.recorder, context_.sites, context_.families,
                                            [](std::uint32_t) { return std::vector<Address>(); });
    agent_ = std::move(agent);
  } catch (const Error& error) {
    why_not_ = error.what();
  }
  return agent_.has_value();
}

agent::Site AgentBackend::describe(const Site& site, SiteId id) const {
  const TrackedFamily& tracked = context_.families[site.family.index()];
  const bool from_argument = site.object.from == ObjectSource::From::argument;
  agent::Site described{};
  described.id = id.value;
  if (tracked.counter) {
    described.counter_offset = static_cast<std::int64_t>(tracked.counter->offset);
    described.counter_size = static_cast<std::uint8_t>(tracked.counter->size);
  }
  described.object_argument = from_argument ? agent::argument_place(site.object.argument) : 0;
  described.indirect = site.object.indirect ? 1 : 0;
  described.pointer_at_entry = site.object.indirect && !site.watches_return() ? 1 : 0;
  described.counts_at_entry = from_argument && !(site.object.indirect && site.watches_return()) ? 1 : 0;
  described.size_argument = agent::argument_place(site.size_argument);
  described.times_argument = agent::argument_place(site.times_argument);
  described.pool_argument = agent::argument_place(site.pool_argument);
  if (site.size_argument == 0) described.size_argument = described.times_argument = 0;
  return described;
}

CodePiece* AgentBackend::piece_near(Address begin, Address end) {
  for (CodePiece& piece : agent_->loaded.pieces) {
    if (piece.reaches(begin, end)) return &piece;
  }
  return nullptr;
}

const BranchTargets& AgentBackend::targets_of(const LoadedModule& module) {
  const auto [entry, added] = targets_.try_emplace(module.id);
  if (added) entry->second = BranchTargets::of(*module.module, module.bias);
  return entry->second;
}

bool AgentBackend::write(DebuggerPort& port, Address address, std::span<const std::uint8_t> bytes) {
  return port.write_memory(address, bytes.data(), bytes.size());
}

std::string AgentBackend::arm(DebuggerPort& port, SiteId id) {
  if (!agent_) return why_not_.empty() ? "the agent is not in the program yet" : why_not_;
  try {
    return try_arm(port, id);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string AgentBackend::try_arm(DebuggerPort& port, SiteId id) {
  const Site& site = context_.sites.get(id);
  const LoadedModule* module = context_.modules.get(site.module);
  const bool watches = site.watches_return();
  if (site.pool_argument != 0 && site.size_argument != 0) return "its call has a pool and a size";
  const std::vector<std::uint8_t> code =
      read_code(*module->module, site.file_address, site.size != 0 ? site.size : kUnsizedFunction);
  const std::vector<std::uint8_t> after = read_code(*module->module, site.file_address + code.size(), kAfter);
  const PatchResult planned = plan_patch({{site.address, code}, after, {}}, targets_of(*module));
  if (!planned.patch) return planned.why_not;
  if (watches && planned.patch->sp_delta != 0) return "its result is needed and a breakpoint stands at its beginning";
  if (watches && reads_stack_arguments({site.address, code}) != StackArguments::no) {
    return "its result is needed and it may have arguments on the stack";
  }
  CodePiece* piece = piece_near(module->begin, module->end);
  if (piece == nullptr) return "its module is too far from the agent";
  std::string why_not;
  const auto stub = write_stub(*piece, describe(site, id), *planned.patch, watches, why_not);
  if (!stub) return why_not;
  const auto jump = jump_bytes(planned.patch->at, stub->begin);
  if (!write(port, planned.patch->at, jump)) return fmt::format("{} could not write there", port.name());
  armed_[id] = Armed{*planned.patch, *stub};
  return {};
}

void AgentBackend::disarm(DebuggerPort& port, SiteId id) {
  const auto found = armed_.find(id);
  if (found == armed_.end()) return;
  const Patch& patch = found->second.patch;
  write(port, patch.at, std::span(patch.original).first(jump_bytes(0, 0).size()));
  armed_.erase(found);
}

void AgentBackend::disarm_all(DebuggerPort& port) {
  while (!armed_.empty()) disarm(port, armed_.begin()->first);
}

void AgentBackend::drop(Address begin, Address end) {
  std::erase_if(armed_, [&](const auto& armed) {
    return begin <= armed.second.patch.at && armed.second.patch.at < end;
  });
}

void AgentBackend::replay() {
  if (!agent_) return;
  const std::vector<RecordBatch> batches = agent_->drain->take();
  for_each_by_time(batches, [&](const RecordBatch& batch, const agent::Record& record) {
    agent_->replay->apply(batch, record);
  });
}

void AgentBackend::modules_changed() {
  if (agent_) agent_->replay->modules_changed();
}

void AgentBackend::forget() {
  replay();
  lost_before_ = lost();
  agent_.reset();
  armed_.clear();
  targets_.clear();
  why_not_.clear();
}

std::uint64_t AgentBackend::lost() const { return lost_before_ + (agent_ ? agent_->drain->lost() : 0); }

bool AgentBackend::in_own_code(Address pc) const {
  return agent_ && std::any_of(agent_->loaded.pieces.begin(), agent_->loaded.pieces.end(),
                               [&](const CodePiece& piece) { return piece.address() <= pc && pc < piece.end(); });
}

std::vector<std::pair<Address, Address>> AgentBackend::own_memory() const {
  return agent_ ? agent_->loaded.data : std::vector<std::pair<Address, Address>>{};
}

}  // namespace refhist
