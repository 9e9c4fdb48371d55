#include "agent_host/agent_backend.h"

#include <fmt/core.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "agent_host/agent_image.h"
#include "agent_host/debugger_stops.h"
#include "agent_host/frame_writer.h"
#include "agent_host/process_layout.h"
#include "agent_host/program_calls.h"
#include "agent_host/site_description.h"
#include "agent_host/symbol_file.h"
#include "agent_host/temporary_file.h"
#include "agent_host/thread_id_place.h"
#include "base/error.h"
#include "base/text.h"
#include "patching/relocator.h"
#include "x86/import_slots.h"
#include "x86/stack_arguments.h"

namespace refhist {

namespace {
constexpr std::uint32_t kFrames = 64;
constexpr unsigned kMostAttempts = 50;  // at hits
constexpr unsigned kImportDepth = 3;    // tail calls from library to library that are followed
void configure(std::vector<CodePiece>& pieces, Address stop) {
  for (CodePiece& piece : pieces) {
    agent::Config config = piece.config();
    config.stacks = kFrames;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      config.code[i] = {pieces[i].address(), pieces[i].end() - pieces[i].address()};
    }
    config.stop = stop;
    piece.set_config(config);
  }
}
}  // namespace

bool AgentBackend::attach(DebuggerPort& port, const ProcessInfo& process, bool tracer_here, long hit) {
  if (agent_ || !why_not_.empty()) return agent_.has_value();
  try {
    if (!process.local) fail("the process is not on this machine");
    if (const std::string obstacle = ProcessLayout::obstacle(process.pid); !obstacle.empty())
      fail("{}", obstacle);
    const ProcessMemory memory(port, process);
    std::vector<ThreadInfo> threads = port.threads();
    std::vector<long> tids;
    for (const ThreadInfo& thread : threads) tids.push_back(thread.tid);
    const auto tid_offset = thread_id_place(context_.modules, process.pid, memory, tids);
    if (!tid_offset) return false;
    std::stable_partition(threads.begin(), threads.end(),
                          [&](const ThreadInfo& thread) { return thread.tid == hit; });
    const auto able = std::find_if(threads.begin(), threads.end(), [&](const ThreadInfo& thread) {
      return tracer_here || port.can_run_system_calls(thread.tid);
    });
    if (able == threads.end()) return false;  // at another stop, perhaps
    const long tid = able->tid;
    const auto instruction = ProcessLayout(process.pid).system_call_instruction(memory);
    const SystemCallRunner run = [&](std::span<SystemCall> calls) {
      if (tracer_here && instruction) return run_system_calls_by_ptrace(tid, *instruction, calls);
      return port.run_system_calls(tid, calls);
    };
    auto loaded = AgentLoader::load(process.pid, memory, run,
                                    ProcessLayout::groups(context_.modules.loaded()), *tid_offset);
    if (!loaded) return false;
    Agent agent;
    agent.pid = process.pid;
    agent.loaded = std::move(*loaded);
    configure(agent.loaded.pieces, agent.loaded.stop);
    const std::uint32_t enabled = 1;
    if (!port.write_memory(agent.loaded.control, &enabled, sizeof enabled) ||
        !port.write_memory(agent.loaded.stop, kStopCode.data(), kStopCode.size())) {
      fail("{} cannot write the program's memory", port.name());
    }
    agent.drain = std::make_unique<EventDrain>(*agent.loaded.area, process.pid);
    agent.replay = std::make_unique<Replay>(
        context_.recorder, context_.sites, context_.modules,
        [this](std::uint32_t node, std::vector<RawFrame>& frames) { return read_stack(node, frames); },
        context_.families,
        [pid = process.pid](Address address, void* out, std::size_t size) {
          return read_process(pid, address, out, size);
        });
    agent.rules = std::make_unique<RuleTable>(*agent.loaded.area, process.pid);
    agent.nodes = std::make_unique<StackNodes>(agent.loaded.area->walk());
    agent_ = std::move(agent);
    withholds_ = false;
    context_.modules.translate_generated([this](Address pc) { return original(pc); });
    const AgentImage& image = AgentImage::get();
    agent_->passes_unwinder = hook(port, "_dl_find_object", image.find_object());
    hook(port, "prctl", image.prctl());
    hook(port, "syscall", image.syscall());
    publish(port);
  } catch (const Error& error) {
    // LLDB cannot run anything in the program at every hit.
    if (hit == 0 || ++attempts_ == kMostAttempts) why_not_ = error.what();
  }
  return agent_.has_value();
}

CodePiece* AgentBackend::piece_near(Address begin, Address end) {
  for (CodePiece& piece : agent_->loaded.pieces) {
    if (piece.reaches(begin, end)) return &piece;
  }
  return nullptr;
}

const AgentBackend::KnownCode& AgentBackend::code_of(const LoadedModule& module) {
  const auto found = known_code_.find(module.id);
  if (found != known_code_.end()) return found->second;
  ModuleCode code(*module.module, module.bias);
  BranchTargets targets(code.code(), code.data(), code.starts(), module.bias);
  return known_code_
      .emplace(module.id,
               KnownCode{std::move(code), std::move(targets), read_import_slots(module.module->path())})
      .first->second;
}

// What only the run of the instruction tells is left to the debugger.
std::string AgentBackend::unfit(const Site& site, const TrackedFamily& tracked, const AgentWatch& watch) {
  const CounterInstruction& counter = *site.counter;
  const bool wider = tracked.counter && counter.size != tracked.counter->size;
  const bool told = counter.source == CounterInstruction::kNoRegister && !counter.opaque && !wider;
  // Whatever a constructor stores: a birth is not judged by the count.
  const bool birth = site.role == Role::init && (!told || counter.constant == tracked.family.born);
  if (watch.flags != 0 && counter.step() == 0 && !birth)
    return "a stop rule checks it, and the amount by which it changes the count varies";
  return {};
}

std::optional<InsideFunction> AgentBackend::inside_function(const LoadedModule& module,
                                                            const ModuleCode& code, Address place) {
  const UnwindRule* rule = module.module->unwind_rule(place);
  constexpr std::int64_t kAboveFramePointer = 16;
  const auto saved_at = [&](unsigned reg, std::int64_t offset) {
    const RegisterRule& saved = rule->registers[reg];
    return saved.kind == RegisterRule::Kind::at_cfa_offset && saved.offset == offset;
  };
  if (rule == nullptr || rule->cfa_by_expression || !saved_at(kRip, -8)) return std::nullopt;
  const bool by_frame_pointer = rule->cfa_register == kRbp && rule->cfa_offset == kAboveFramePointer &&
                                saved_at(kRbp, -kAboveFramePointer);
  const bool fixed = by_frame_pointer || rule->cfa_register == kRsp;
  const auto& starts = code.starts();
  const auto next = std::upper_bound(starts.begin(), starts.end(), place + module.bias);
  if (!fixed || next == starts.begin()) return std::nullopt;
  InsideFunction inside;
  inside.enclosing = code.function_at(*std::prev(next));
  inside.by_frame_pointer = by_frame_pointer;
  if (!by_frame_pointer)
    inside.sp_delta =
        static_cast<std::int32_t>(rule->cfa_offset) - static_cast<std::int32_t>(sizeof(Address));
  for (const unsigned reg : {kRbx, kRbp, kR12, kR13, kR14, kR15}) {
    const RegisterRule& saved = rule->registers[reg];
    // libdw calls rbx undefined where the call frame information says nothing of it.
    const bool untouched =
        saved.kind == RegisterRule::Kind::same || saved.kind == RegisterRule::Kind::undefined;
    if (untouched) continue;
    if (saved.kind != RegisterRule::Kind::at_cfa_offset) return std::nullopt;
    inside.pushed.push_back({reg, -saved.offset});
  }
  return inside;
}

StackArguments AgentBackend::stack_arguments(DebuggerPort& port, const KnownCode& known,
                                             const CodeRange& function, unsigned depth) {
  const auto range_at = [](const std::vector<CodeRange>& ranges, Address address) {
    for (const CodeRange& range : ranges) {
      if (range.contains(address)) return range.from(address);
    }
    return CodeRange{address, {}};
  };
  CodeAround around;
  around.code_at = [&](Address address) { return known.code.function_at(address); };
  around.data_at = [&](Address address) { return range_at(known.code.data(), address); };
  around.imported = [&](Address slot) { return imported_stack_arguments(port, known, slot, depth); };
  return reads_stack_arguments(function, around);
}

StackArguments AgentBackend::imported_stack_arguments(DebuggerPort& port, const KnownCode& known,
                                                      Address slot, unsigned depth) {
  const auto name = known.imports.find(slot - known.code.bias());
  if (depth == kImportDepth) return StackArguments::unknown;
  if (name == known.imports.end()) {
    // One of the library's own functions that is chosen when the library is loaded (IFUNC): memset.
    Address chosen = 0;
    if (!port.read_memory(slot, &chosen, sizeof chosen)) return StackArguments::unknown;
    const LoadedModule* module = context_.modules.at(chosen);
    if (module == nullptr || !module->id.valid()) return StackArguments::unknown;
    const KnownCode& other = code_of(*module);
    return stack_arguments(port, other, other.code.function_at(chosen), depth + 1);
  }
  for (const LoadedModule* module : context_.modules.loaded()) {
    for (const FunctionSymbol& function : module->module->functions_named(name->second)) {
      if (!function.exported || function.ifunc) continue;
      const KnownCode& other = code_of(*module);
      const PatchRequest request = other.code.request(function.address + module->bias, function.size);
      return stack_arguments(port, other, request.function, depth + 1);
    }
  }
  return StackArguments::unknown;
}

bool AgentBackend::write(DebuggerPort& port, Address address, std::span<const std::uint8_t> bytes) {
  return port.write_memory(address, bytes.data(), bytes.size());
}

std::string AgentBackend::arm(DebuggerPort& port, SiteId id, const AgentWatch& watch) {
  if (!agent_) return why_not_.empty() ? "the agent is not in the program yet" : why_not_;
  try {
    return try_arm(port, id, watch);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string AgentBackend::try_arm(DebuggerPort& port, SiteId id, const AgentWatch& watch) {
  if (arm_again(port, id, watch)) return {};
  const Site& site = context_.sites.get(id);
  const LoadedModule* module = context_.modules.get(site.module);
  const bool watches = site.watches_return();
  if (site.pool_argument != 0 && site.object.from == ObjectSource::From::argument)
    return "its call takes a pool in addition to the object";
  if ((watch.flags & agent::kWatchBalance) != 0 &&
      !frees_known_blocks(site, context_.families[site.family.index()], context_.modules))
    return "a stop rule checks what it frees, and the size of that is not known";
  if (watch.flags != 0 && site.object.adjust != 0)
    return "a stop rule checks it, and it is a thunk with a copy of the function";
  const KnownCode& known = code_of(*module);
  if (site.counter) {
    if (std::string why_not = unfit(site, context_.families[site.family.index()], watch); !why_not.empty())
      return why_not;
  }
  PatchRequest request = known.code.request(site.address, site.counter ? 0 : site.size);
  if (site.counter) {
    request.inside = inside_function(*module, known.code, site.file_address);
    if (!request.inside) return "an inlined copy in a function whose frame is not at a fixed place";
  }
  for (const Address address : port.user_breakpoints()) {
    if (address > site.address - (site.counter ? kLongestPrefix : 0) &&
        (site.counter || request.function.contains(address)))
      request.keep.push_back(address);
  }
  request.others = others_near(id);
  if (!site.counter) request.stops = debugger_stops(port, *module, request.function);
  if (site.counter && !port.tells_of_steps()) request.stops = line_stops(port, *module, site.address);
  // A step of LLDB's into the function ends behind the jump, and the call comes back to the stub: a
  // breakpoint there would have it forget the steps that follow.
  request.frame_shows = !watches || port.passed_line() == DebuggerPort::PassedLine::no_statement;
  const PatchResult planned = plan_patch(request, known.targets);
  if (!planned.patch) return planned.why_not;
  if (planned.patch->prefix != 0) {
    const auto there = inside_function(*module, known.code, planned.patch->at - module->bias);
    if (!there || *there != *request.inside) return "too short, and the frame differs right before it";
  }
  if (watches && !agent_->passes_unwinder)
    return "its result is needed and the program's unwinder could not get through";
  if (watches && planned.patch->sp_delta != 0)
    return "its result is needed and there is a breakpoint at its entry";
  agent::Site described = describe_site(site, id, context_.families[site.family.index()], watch);
  const bool counted =
      described.effect == agent::Effect::put || (described.effect == agent::Effect::get && watches);
  const bool ends = counted && !site.counter && watch.flags != 0 && !site.object.indirect &&
                    site.object.from == ObjectSource::From::argument && agent_->passes_unwinder &&
                    planned.patch->sp_delta == 0;
  const bool no_stack_arguments =
      site.arguments != 0 ||
      ((watches || ends) && stack_arguments(port, known, request.function, 0) == StackArguments::no);
  if (watches && !no_stack_arguments) return "its result is needed and it may have arguments on the stack";
  described.tells_end = ends && no_stack_arguments ? 1 : 0;
  CodePiece* piece = piece_near(module->begin, module->end);
  if (piece == nullptr) return "its module is too far from the agent";
  std::string why_not;
  const ReturnTo returns = watches                    ? ReturnTo::record
                           : described.tells_end != 0 ? ReturnTo::end_of_put
                                                      : ReturnTo::nobody;
  std::optional<CounterOperands> counter;
  if (site.counter) counter = CounterOperands{*site.counter, module->bias};
  const auto stub = write_stub(*piece, described, *planned.patch, returns, counter, why_not);
  if (!stub) return why_not;
  const auto jump = jump_bytes(planned.patch->at, stub->begin);
  if (!write(port, planned.patch->at, jump)) return fmt::format("{} could not write there", port.name());
  const unsigned prefix = planned.patch->prefix;
  agent_->stubs.push_back(
      Written{id, *stub, site.function, site.module, site.file_address - prefix, site.address - prefix});
  agent_->replay->expect(id);
  armed_[id] = Armed{*planned.patch, *stub, watch, described.tells_end != 0};
  return {};
}

std::vector<AgentBackend::Near> AgentBackend::armed_near(Address address) const {
  constexpr Address kReach = 40;  // bytes: more than any patch has, with what runs before the site
  std::vector<Near> found;
  for (Address near = address - kReach; near < address + kReach; ++near) {
    const SiteId site = near == address ? SiteId() : context_.sites.at(near);
    if (!site.valid()) continue;
    const auto armed = armed_.find(site);
    found.push_back({site, near, armed == armed_.end() ? nullptr : &armed->second.patch});
  }
  return found;
}

/// Of other sites near it that are armed: where they stand, and the ends of their patches.
std::vector<Address> AgentBackend::others_near(SiteId id) const {
  std::vector<Address> found;
  for (const Near& other : armed_near(context_.sites.get(id).address)) {
    found.push_back(other.address);
    if (other.patch == nullptr) continue;
    found.push_back(other.patch->at);
    found.push_back(other.patch->at + other.patch->length - 1);
  }
  return found;
}

std::vector<SiteId> AgentBackend::patched_over(Address address) const {
  std::vector<SiteId> found;
  for (const Near& other : armed_near(address)) {
    if (other.patch != nullptr && address - other.patch->at < other.patch->length)
      found.push_back(other.site);
  }
  return found;
}

/// Nothing has come to stand in the bytes that a patch had, since it was taken out.
bool AgentBackend::still_fits(DebuggerPort& port, SiteId id, const Armed& armed) const {
  const Patch& patch = armed.patch;
  const auto inside = [&](Address address) { return address - patch.at < patch.length; };
  const std::vector<Address> others = others_near(id);
  const std::vector<Address> breakpoints = port.user_breakpoints();
  const Address address = context_.sites.get(id).address;
  const Address begin = patch.start.empty() ? address - patch.prefix : patch.at;
  // One that begins further in made room for a breakpoint, which may be gone.
  return patch.beginning() == address && std::none_of(others.begin(), others.end(), inside) &&
         std::none_of(breakpoints.begin(), breakpoints.end(),
                      [&](Address address) { return address != begin && inside(address); });
}

bool AgentBackend::arm_again(DebuggerPort& port, SiteId id, const AgentWatch& watch) {
  const auto reusable = reusable_.find(id);
  if (reusable == reusable_.end() || reusable->second.watch != watch) return false;
  const Armed& armed = reusable->second;
  if (!still_fits(port, id, armed)) return false;
  if (!write(port, armed.patch.at, jump_bytes(armed.patch.at, armed.stub.begin))) return false;
  armed_.insert(reusable_.extract(reusable));
  return true;
}

void AgentBackend::restore(DebuggerPort& port, const Patch& patch) {
  write(port, patch.at, std::span(patch.original).first(jump_bytes(0, 0).size()));
}

void AgentBackend::disarm(DebuggerPort& port, SiteId id) {
  const auto found = armed_.find(id);
  if (found == armed_.end()) return;
  restore(port, found->second.patch);
  reusable_.erase(id);
  reusable_.insert(armed_.extract(found));
}

void AgentBackend::disarm_all(DebuggerPort& port) {
  while (!armed_.empty()) disarm(port, armed_.begin()->first);
  if (!agent_) return;
  for (const Hook& hook : agent_->hooks) restore(port, hook.patch);
  agent_->hooks.clear();
  agent_->passes_unwinder = false;
}

std::vector<SiteId> AgentBackend::covered_by_breakpoints(DebuggerPort& port) const {
  std::vector<SiteId> covered;
  const std::vector<Address> breakpoints = port.user_breakpoints();
  for (const auto& [id, armed] : armed_) {
    const Patch& patch = armed.patch;
    const bool inside = std::any_of(breakpoints.begin(), breakpoints.end(), [&](Address address) {
      return patch.at < address && address < patch.at + patch.length;
    });
    if (inside) covered.push_back(id);
  }
  return covered;
}

void AgentBackend::drop(Address begin, Address end) {
  const auto gone = [&](const auto& armed) {
    return begin <= armed.second.patch.at && armed.second.patch.at < end;
  };
  std::erase_if(armed_, gone);
  std::erase_if(reusable_, gone);
}

Address AgentBackend::stub_of(DebuggerPort& port, SiteId id, const AgentWatch& watch) const {
  const auto reusable = reusable_.find(id);
  const bool known = reusable != reusable_.end() && reusable->second.watch == watch &&
                     still_fits(port, id, reusable->second);
  return known ? reusable->second.stub.begin + reusable->second.stub.at_entry : 0;
}

std::optional<SiteId> AgentBackend::patched_at(Address pc) const {
  const auto found = std::find_if(armed_.begin(), armed_.end(),
                                  [&](const auto& armed) { return armed.second.patch.jumps_next(pc); });
  return found == armed_.end() ? std::nullopt : std::optional(found->first);
}

const AgentBackend::Written* AgentBackend::stub_with(Address stub_site) const {
  if (!agent_) return nullptr;
  const auto found = std::find_if(agent_->stubs.begin(), agent_->stubs.end(),
                                  [&](const Written& written) { return written.stub.site == stub_site; });
  return found == agent_->stubs.end() ? nullptr : &*found;
}

SiteId AgentBackend::site_of_stub(Address stub_site) const {
  const Written* written = stub_with(stub_site);
  return written == nullptr ? SiteId() : written->site;
}

Address AgentBackend::way_back(Address stub_site) const {
  const Written* written = stub_with(stub_site);
  return written == nullptr ? 0 : written->stub.back;
}

std::optional<SiteId> AgentBackend::jump_around(Address address) const {
  const auto found = std::find_if(armed_.begin(), armed_.end(), [&](const auto& armed) {
    const Address jump = armed.second.patch.at;
    return jump < address && address - jump < kJumpSize;
  });
  return found == armed_.end() ? std::nullopt : std::optional(found->first);
}

Address AgentBackend::call_at(SiteId id, Address pc) const {
  const auto found = armed_.find(id);
  if (found == armed_.end() || found->second.patch.prefix != 0) return pc;
  return found->second.patch.jumps_next(pc) ? found->second.patch.beginning() : pc;
}

Address AgentBackend::stub_from(SiteId id, Address pc) const {
  const auto found = armed_.find(id);
  if (found == armed_.end()) return 0;
  const auto& [patch, stub, watch, tells_end] = found->second;
  const bool at_call = patch.prefix == 0 && !patch.red_zone_live && pc == patch.function;
  return at_call ? stub.begin + stub.at_entry : pc == patch.at ? stub.begin : 0;
}

std::optional<Registers> AgentBackend::at_entry(SiteId id, Registers now,
                                                const FunctionStart::ReadWord& read) const {
  const auto found = armed_.find(id);
  if (found == armed_.end() || !found->second.patch.begun(now.pc())) return std::nullopt;
  const Patch& patch = found->second.patch;
  const auto left = static_cast<unsigned>(patch.at - now.pc());
  return patch.start.take_back(left, now, read) ? std::optional(now) : std::nullopt;
}

bool AgentBackend::begins_before(SiteId id) const {
  const auto reusable = reusable_.find(id);
  return reusable != reusable_.end() && reusable->second.patch.prefix != 0;
}

AgentWatch AgentBackend::watch_of(SiteId id) const {
  const auto found = armed_.find(id);
  return found == armed_.end() ? AgentWatch{} : found->second.watch;
}

bool AgentBackend::watches_any() const {
  return std::any_of(armed_.begin(), armed_.end(),
                     [](const auto& armed) { return armed.second.watch.flags != 0; });
}

void AgentBackend::describe_again() {
  std::vector<FamilyId> watched;
  FreedWords& freed = agent_->replay->freed_words();
  std::set<FamilyId> counting;
  for (const auto& [id, armed] : armed_) counting.insert(context_.sites.get(id).family);
  freed.choose(context_.families, counting);
  for (const auto& [id, armed] : armed_) {
    const Site& site = context_.sites.get(id);
    const TrackedFamily& tracked = context_.families[site.family.index()];
    agent::Site described = describe_site(site, id, tracked, armed.watch);
    described.sp_bias = armed.stub.sp_bias;
    described.by_frame_pointer = armed.stub.by_frame_pointer ? 1 : 0;
    described.tells_end = armed.tells_end ? 1 : 0;
    const auto heap = heap_call(site, tracked, context_.modules);
    if (heap) described.heap = *heap;
    if (heap == agent::kFreesBlock) {
      withholds_ = true;
      std::copy(freed.numbers().begin(), freed.numbers().end(), described.freed_words);
    }
    std::array<std::uint8_t, sizeof described> bytes;
    std::memcpy(bytes.data(), &described, sizeof described);
    for (CodePiece& piece : agent_->loaded.pieces) {
      if (piece.contains(armed.stub.site)) piece.rewrite(armed.stub.site, bytes);
    }
    if (armed.watch.flags != 0 && !tracked.family.allocator) watched.push_back(site.family);
  }
  std::sort(watched.begin(), watched.end());
  watched.erase(std::unique(watched.begin(), watched.end()), watched.end());
  agent_->rules->name_families(watched);
}

bool AgentBackend::read_stack(std::uint32_t node, std::vector<RawFrame>& frames) const {
  if (agent_->nodes->stack(node, kFrames, frames) == StackEnd::damaged) return false;
  std::erase_if(frames, [&](RawFrame& frame) {
    if (!in_own_code(frame.pc)) return false;
    frame.pc = original(frame.pc);
    return frame.pc == 0;
  });
  return true;
}

Address AgentBackend::original(Address pc) const {
  if (!in_own_code(pc)) return 0;
  for (const Written& written : agent_->stubs) {
    const Stub& stub = written.stub;
    if (pc < stub.begin || pc >= stub.end) continue;
    const auto offset = static_cast<std::uint32_t>(pc - stub.begin);
    const bool early = offset < stub.early_end;
    if (!early && (offset < stub.relocated || offset > stub.relocated_end)) return 0;
    Address found = 0;
    for (const auto& [moved, from] : early ? stub.early : stub.boundaries) {
      if (moved <= offset) found = written.address + from;
    }
    return found;
  }
  return 0;
}

bool AgentBackend::stands_in(DebuggerPort& port, const Patch& patch) {
  const std::vector<ThreadInfo> threads = port.threads();
  return std::any_of(threads.begin(), threads.end(), [&](const ThreadInfo& thread) {
    const auto registers = port.registers(thread.tid);
    return registers && patch.at < registers->pc() && registers->pc() < patch.at + patch.length;
  });
}

// `handler`: its place in the agent's image. False when the function is not there or cannot be patched.
bool AgentBackend::hook(DebuggerPort& port, const std::string& name, Address handler) {
  for (const LoadedModule* module : context_.modules.loaded()) {
    for (const FunctionSymbol& function : module->module->functions_named(name)) {
      const Address address = function.address + module->bias;
      const KnownCode& known = code_of(*module);
      const PatchResult planned = plan_patch(known.code.request(address, function.size), known.targets);
      CodePiece* piece = piece_near(module->begin, module->end);
      if (!planned.patch || piece == nullptr || stands_in(port, *planned.patch)) return false;
      std::string why_not;
      const auto stub = write_hook(*piece, piece->in_agent(handler), *planned.patch, why_not);
      if (!stub || !write(port, planned.patch->at, jump_bytes(planned.patch->at, stub->begin))) return false;
      agent_->stubs.push_back(Written{SiteId(), *stub, function.name, module->id, function.address, address});
      agent_->hooks.push_back(Hook{*planned.patch, stub->begin});
      return true;
    }
  }
  return false;
}

void AgentBackend::publish_rules() {
  std::vector<WalkerMemory::Placed> placed;
  const auto place = [&](const LoadedModule& module) {
    std::shared_ptr<const CompactCfi>& rules = rules_[module.module.get()];
    if (rules == nullptr) rules = std::make_shared<const CompactCfi>(*module.module);
    placed.push_back({module.bias, rules});
  };
  for (const LoadedModule* module : context_.modules.loaded()) place(*module);
  for (const CodePiece& piece : agent_->loaded.pieces) {
    const LoadedModule* generated = context_.modules.at(piece.address());
    if (generated != nullptr)
      placed.push_back({generated->bias, std::make_shared<const CompactCfi>(*generated->module)});
  }
  unplaced_modules_ = agent_->loaded.area->walk().publish(placed);
}

void AgentBackend::apply_options() {
  if (!agent_) return;
  const RecordingOptions& options = context_.recorder.options();
  const bool withholds = options.quarantine.bytes != 0;
  agent_->loaded.area->set_quarantine(static_cast<std::uint32_t>(options.quarantine.bytes / kPage));
  const Address mallopt = withholds ? exported_by(context_.modules, "libc", "mallopt") : 0;
  const Address slices = withholds ? exported_by(context_.modules, "libglib-2.0", "g_slice_set_config") : 0;
  const std::uint32_t frames = options.stacks ? kFrames : 0;
  for (CodePiece& piece : agent_->loaded.pieces) {
    agent::Config config = piece.config();
    config.stacks = frames;
    config.mallopt = mallopt;
    config.slice_config = slices;
    config.withheld_most = options.quarantine.most_blocks;
    config.withheld_time = options.quarantine.most_time_ns;
    if (std::memcmp(&config, &piece.config(), sizeof config) == 0) continue;
    piece.set_config(config);
  }
}

void AgentBackend::publish(DebuggerPort& port) {
  if (!agent_) return;
  apply_options();
  describe_again();
  if (agent_->published == agent_->stubs.size()) {
    publish_rules();
    return;
  }
  for (CodePiece& piece : agent_->loaded.pieces) publish_piece(port, piece);
  agent_->published = agent_->stubs.size();
  publish_rules();
}

std::vector<std::uint8_t> AgentBackend::frames_of(const CodePiece& piece, FrameWriter::Reader reader,
                                                  std::vector<CodeName>& names) const {
  const AgentImage& image = AgentImage::get();
  const Address base = piece.address();
  FrameWriter frames(reader, piece.frames_at(), image.frames(), image.frames_at());
  names.clear();
  // LLDB takes the frames of a function only where they tell of the whole symbol.
  for (const auto& [begin, size] : frames.agent_functions()) names.push_back({"refhist_agent", begin, size});
  for (const Written& written : agent_->stubs) {
    if (written.stub.begin < base || written.stub.begin >= piece.end()) continue;
    Stub stub = written.stub;
    stub.begin -= base;
    stub.end -= base;
    names.push_back({"refhist_" + written.function, stub.begin, stub.end - stub.begin});
    const LoadedModule* module = context_.modules.get(written.module);
    frames.add(stub, [&](std::uint32_t offset) {
      return module->module->unwind_rule(written.function_address + offset);
    });
  }
  if (const Address stop = agent_->loaded.stop; stop == piece.stop_page()) {
    Stub place;
    place.begin = stop - base;
    place.end = place.begin + kStopCode.size();
    place.rows = {FrameRow{0, sizeof(Address)}};
    names.push_back({"refhist_stop", place.begin, kStopCode.size()});
    frames.add(place, [](std::uint32_t) { return nullptr; });
  }
  return frames.finish();
}

void AgentBackend::publish_piece(DebuggerPort& port, CodePiece& piece) {
  std::vector<CodeName> names;
  const auto file = [&](std::span<const std::uint8_t> frames, const CodeLines* lines) {
    return make_symbol_file(piece.code_size(), names, frames, piece.frames_at(), lines);
  };
  const std::vector<std::uint8_t> own = frames_of(piece, FrameWriter::Reader::program, names);
  if (!piece.set_frames(own)) return;
  context_.modules.put_generated(Module::from_image("[refhist]", file(own, nullptr)), piece.address());
  const CodeLines lines = make_code_lines(1, piece.code_size(), port.passed_line());
  show(port, piece, file(frames_of(piece, FrameWriter::Reader::debugger, names), &lines));
}

void AgentBackend::show(DebuggerPort& port, const CodePiece& piece, std::span<const std::uint8_t> file) {
  std::erase_if(agent_->files, [&](const auto& shown) {
    if (shown.second != piece.address()) return false;
    port.show_code({}, piece.address());
    return true;
  });
  const std::string path = TemporaryFile::write(file);
  if (path.empty()) return;
  port.show_code(path, piece.address());
  agent_->files.emplace_back(path, piece.address());
}

void AgentBackend::forget_cached_calls() {
  if (agent_) agent_->replay->forget_cached_calls();
}

void AgentBackend::forget_history() {
  forget_cached_calls();
  lost_before_ = undecided_before_ = unwatched_before_ = 0;
  damaged_before_ = {};
}

void AgentBackend::note_stopped() { stopped_at_ = __rdtsc(); }

void AgentBackend::note_fork() {
  forked_at_ = __rdtsc();
  forking_ = true;
}

bool AgentBackend::still_there(DebuggerPort& port, const ProcessInfo& process) const {
  std::uint32_t enabled = 0;
  return agent_ && ProcessMemory(port, process).read_value(agent_->loaded.control, enabled) && enabled != 0;
}

void AgentBackend::begin_process() {
  why_not_.clear();
  attempts_ = 0;
  withholds_ = false;
  gap_before_.clear();
}

void AgentBackend::forget() { let_go(); }

LoadedAgent AgentBackend::let_go() {
  replay();
  lost_before_ = lost();
  damaged_before_ = damaged();
  known_lost_ = 0;
  undecided_before_ = undecided_puts();
  gap_before_ = quarantine_gap();
  unwatched_before_ = unwatched_events();
  context_.modules.translate_generated({});
  LoadedAgent loaded = agent_ ? std::move(agent_->loaded) : LoadedAgent{};
  agent_.reset();
  armed_.clear();
  reusable_.clear();
  known_code_.clear();
  rules_.clear();
  return loaded;
}

std::uint64_t AgentBackend::lost() const { return lost_before_ + (agent_ ? agent_->drain->lost() : 0); }

AgentBackend::Damaged AgentBackend::damaged() const {
  if (!agent_) return damaged_before_;
  const Damage& damage = agent_->loaded.area->damage();
  return {damaged_before_.records + damage.records() + agent_->replay->refused(),
          damaged_before_.words + damage.words()};
}

std::uint64_t AgentBackend::undecided_puts() const {
  return undecided_before_ + (agent_ ? agent_->rules->undecided() : 0);
}

std::uint64_t AgentBackend::unwatched_events() const {
  return unwatched_before_ + (agent_ ? agent_->rules->unwatched() : 0);
}

bool AgentBackend::in_own_code(Address pc) const {
  return agent_ &&
         std::any_of(agent_->loaded.pieces.begin(), agent_->loaded.pieces.end(),
                     [&](const CodePiece& piece) { return piece.address() <= pc && pc < piece.end(); });
}

std::vector<std::pair<Address, Address>> AgentBackend::own_memory() const {
  return agent_ ? agent_->loaded.data : std::vector<std::pair<Address, Address>>{};
}

}  // namespace refhist
