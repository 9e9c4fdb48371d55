#include "session/crash_cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

#include "base/signal_name.h"
#include "base/text.h"
#include "heap/heap_layout.h"
#include "session/reach_scans.h"
#include "x86/instruction.h"
#include "x86/straight_way.h"

namespace refhist {

namespace {

constexpr Address kReach = 1U << 16U;  // bytes that a function may use behind the address that it was given

bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
}

}  // namespace

// In quarantine each block has pages of its own: what lies beside an object there, but for the block's
// header, is the block that it is embedded in, or more of an object whose size is not known.
bool CrashCause::in_block_of(const Object& object, Address word) const {
  const bool beside = word / kPage == object.address / kPage;
  return beside && word % kPage >= malloc_layout::kHeader && state_.agent.withholds(word);
}

// The newest one, should several have had their memory there. A smaller object that had the beginning of the
// block later on is not the one that had the rest of it.
ObjectId CrashCause::dead_object(Address word) const {
  std::pair<bool, ObjectId> newest;
  for (const auto& [id, object] : state_.history.objects()) {
    if (object.state != ObjectState::dead || !object.freed) continue;
    const bool inside = word - object.address < std::max<std::uint64_t>(object.size, sizeof(Address));
    const bool beside = !inside && in_block_of(object, word);
    const std::pair one{inside || (beside && object.size == 0), id};
    if ((inside || beside) && (!newest.second.valid() || newest < one)) newest = one;
  }
  const ObjectId found = newest.second;
  if (!found.valid()) return found;
  const Object& object = state_.history.object(found);
  const bool gone =
      object.died.valid() && state_.recorder.memory_fate(object.family, object.address) == MemoryFate::gone &&
      !state_.recorder.allocations().covered_since(word, state_.history.event(object.died).time_ns);
  return gone ? found : ObjectId();
}

std::optional<CrashCause::Use> CrashCause::dead_at(const ValueOrigin::Traced& traced) const {
  std::vector<Address> words = traced.read;
  words.push_back(traced.value);
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const ObjectId id = dead_object(*word);
    if (!id.valid()) continue;
    const Address object = state_.history.object(id).address;
    const std::string where = *word < object ? plural(object - *word, "byte") + " in front of it"
                                             : plural(*word - object, "byte") + " into it";
    return Use{id, "used after its memory was freed, " + where};
  }
  return std::nullopt;
}

std::optional<CrashCause::Use> CrashCause::by_instruction(const Registers& registers, const Frames& frames,
                                                          std::vector<Address>& failed) const {
  const Address here = own_pc(state_.modules, registers.pc());
  const LoadedModule* loaded = state_.modules.at(here);
  DecodedInstruction instruction;
  if (loaded == nullptr || !read_instruction(loaded->module->code(), here - loaded->bias, instruction))
    return std::nullopt;
  const auto now = frames.now();
  const auto origin = frames.here();
  if (!now || !origin) return std::nullopt;
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const auto address = is_memory(operand) ? now->of_address(instruction, operand) : std::nullopt;
    if (!address) continue;
    failed.push_back(address->value);
    // Memory may have changed since the program has read it.
    const auto traced = origin->of_address(instruction, operand);
    if (auto use = dead_at(traced && traced->value == address->value ? *traced : *address)) return use;
  }
  return std::nullopt;
}

std::optional<CrashCause::Use> CrashCause::by_arguments(const Call& call, const Frames& frames,
                                                        const std::vector<Address>& failed) const {
  const ValueOrigin origin = frames.of_call(call);
  for (const unsigned reg : kArgumentRegisters) {
    const auto traced = origin.of_register(reg);
    // The C library's free begins with the header in front of the block.
    const bool frees = reg == kRdi && call.frame > 0 && gives_memory_back(frames.frames()[call.frame - 1].pc);
    const Address before = frees ? malloc_layout::kHeader : 0;
    const bool leads_there = traced && std::any_of(failed.begin(), failed.end(), [&](Address address) {
                               return address + before - traced->value < kReach;
                             });
    if (!leads_there) continue;
    if (auto use = frees ? freed_again(*traced) : dead_at(*traced)) return use;
  }
  return std::nullopt;
}

std::optional<CrashCause::Use> CrashCause::by_target(const Call& call, const Frames& frames) const {
  const ValueOrigin origin = frames.of_call(call);
  const ZydisDecodedOperand& target = call.instruction.operands[0];
  const auto reg = is_register(target) ? dwarf_number(target.reg.value) : std::nullopt;
  const auto traced = reg                 ? origin.of_register(*reg)
                      : is_memory(target) ? origin.of_address(call.instruction, target)
                                          : std::nullopt;
  return traced ? dead_at(*traced) : std::nullopt;
}

std::optional<CrashCause::Use> CrashCause::bad_access(const Registers& registers, const Frames& frames,
                                                      std::vector<Address>& failed) const {
  if (frames.jumped())
    return frames.frames().empty() || !frames.call(0) ? std::nullopt : by_target(*frames.call(0), frames);
  if (auto use = by_instruction(registers, frames, failed)) return use;
  for (std::size_t i = 1; i < frames.frames().size() && !frames.frames()[i].exact; ++i) {
    if (!frames.call(i)) continue;
    if (auto use = by_arguments(*frames.call(i), frames, failed)) return use;
  }
  return std::nullopt;
}

bool CrashCause::is_c_library(Address pc) const {
  const LoadedModule* loaded = state_.modules.at(own_pc(state_.modules, pc));
  if (loaded == nullptr) return false;
  const std::string name = file_name(loaded->module->path());
  return name.starts_with("libc.so") || name.starts_with("libstdc++.so") || name.starts_with("libpthread.so");
}

bool CrashCause::gives_memory_back(Address pc) const {
  constexpr std::array<std::string_view, 7> kNames{"free",           "cfree",  "__libc_free", "realloc",
                                                   "__libc_realloc", "_ZdlPv", "_ZdlPvm"};
  const Address here = own_pc(state_.modules, pc);
  const LoadedModule* loaded = state_.modules.at(here);
  const auto function =
      loaded == nullptr ? std::nullopt : loaded->module->function_at(here - loaded->bias - 1);
  return function && std::find(kNames.begin(), kNames.end(), function->name) != kNames.end();
}

std::optional<CrashCause::Use> CrashCause::freed_again(const ValueOrigin::Traced& given) const {
  const ObjectId id = dead_object(given.value);
  const bool whole = id.valid() && state_.history.object(id).address == given.value;
  return whole ? std::optional(Use{id, "freed again after its memory was freed"}) : std::nullopt;
}

// The C library ends the program for what the innermost function of others has asked of it.
std::optional<CrashCause::Use> CrashCause::aborted(const Frames& frames) const {
  std::size_t outer = 0;
  while (outer < frames.frames().size() && is_c_library(frames.frames()[outer].pc)) ++outer;
  if (outer == 0 || outer == frames.frames().size()) return std::nullopt;
  const auto& call = frames.call(outer);
  if (!call) return std::nullopt;
  if (auto use = by_target(*call, frames)) return use;
  const auto given = frames.of_call(*call).of_register(kRdi);
  if (!given || !gives_memory_back(frames.frames()[outer - 1].pc)) return std::nullopt;
  return freed_again(*given);
}

std::optional<CrashCause::Use> CrashCause::find(const Registers& registers, const Frames& frames, int signal,
                                                std::vector<Address>& failed) const {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
      return bad_access(registers, frames, failed);
    case SIGABRT:
      return aborted(frames);
    default:
      return std::nullopt;
  }
}

// Without quarantine the program might have gone on.
std::string CrashCause::other_memory(const Registers& registers, const std::vector<Address>& failed) {
  const auto withheld = first_withheld(failed);
  if (!withheld) return {};
  const Address here = own_pc(state_.modules, registers.pc());
  const LoadedModule* loaded = state_.modules.at(here);
  NamedFrame place;
  place.pc = here;
  if (loaded != nullptr) {
    const auto frames = loaded->module->code().source_frames(here - loaded->bias);
    if (!frames.empty()) {
      place.function = frames.front().function;
      place.file = frames.front().file;
      place.line = frames.front().line;
    }
    place.module = loaded->module->path();
  }
  state_.warnings.push_back(fmt::format(
      "the program used memory that it had freed, at {:#x}, in {}, and was ended by it; no tracked "
      "object is known there (without quarantine it may go on)",
      *withheld, FrameNamer::text(place)));
  return "refhist: " + state_.warnings.back() + "\n";
}

/// A put that loads its counter before it stores it fails in the load. Both are of one line of the source.
SiteId CrashCause::begun_put(ObjectId object, Address pc, const std::vector<Address>& failed) const {
  constexpr unsigned kNear = 24;  // instructions
  const Object& dead = state_.history.object(object);
  const auto& counter = state_.families[dead.family.index()].counter;
  const LoadedModule* loaded = state_.modules.at(pc);
  const bool counts = counter && loaded != nullptr &&
                      std::count(failed.begin(), failed.end(), dead.address + counter->offset) != 0;
  if (!counts) return {};
  const Module& module = loaded->module->code();
  const auto line = [&](Address at) {
    const auto frames = module.source_frames(at);
    return frames.empty() ? SourceFrame() : frames.front();
  };
  const SourceFrame here = line(pc - loaded->bias);
  DecodedInstruction instruction;
  Address at = pc - loaded->bias;
  for (unsigned i = 0; i < kNear && read_instruction(module, at, instruction); ++i) {
    const SiteId put = put_at(at + loaded->bias, dead.family);
    const SourceFrame there = put.valid() ? line(at) : SourceFrame();
    if (put.valid() && there.function == here.function && there.line == here.line) return put;
    const auto target = instruction.is_jump() ? instruction.branch_target() : std::nullopt;
    if (!target && !instruction.falls_through()) return {};
    at = target.value_or(instruction.next());
  }
  return {};
}

SiteId CrashCause::put_at(Address address, FamilyId family) const {
  SiteId id = state_.sites.at(address);
  if (!id.valid()) return {};
  for (const SiteId other : state_.sites.get(id).colocated) {
    if (state_.sites.get(other).family == family) id = other;
  }
  const Site& site = state_.sites.get(id);
  return site.family == family && site.counter && site.role == Role::put ? id : SiteId();
}

std::optional<Address> CrashCause::first_withheld(const std::vector<Address>& failed) const {
  const auto found = std::find_if(failed.begin(), failed.end(),
                                  [&](Address address) { return state_.agent.withholds(address); });
  return found == failed.end() ? std::nullopt : std::optional(*found);
}

// In quarantine each block has pages of its own.
std::optional<CrashCause::OwnedMemory> CrashCause::owned_memory(const std::vector<Address>& failed) {
  const auto withheld = first_withheld(failed);
  if (!withheld) return std::nullopt;
  look_at_managed(state_, access_.port());
  const Address owned = state_.recorder.second_owners().owned_at(*withheld);
  if (owned == 0 || owned / kPage != *withheld / kPage) return std::nullopt;
  return OwnedMemory{owned, *withheld};
}

std::string CrashCause::second_owner(Address owned) {
  const Finding* finding = state_.recorder.second_owners().note_deleted(owned);
  if (finding == nullptr) return {};
  const Object& block = state_.history.object(finding->object);
  return fmt::format(
      "refhist: second-owner: {0} {1:#x}: {2}; the program used it after that; refhist {1:#x} shows its "
      "history\n",
      state_.family_name(block.family), block.address, finding->why);
}

std::optional<CrashCause::Use> CrashCause::by_owner(const OwnedMemory& memory) const {
  const std::vector<ObjectId> owners = state_.recorder.second_owners().owners_of(memory.owned);
  if (owners.empty()) return std::nullopt;
  const ObjectId last = *std::max_element(owners.begin(), owners.end());
  const Object& block = state_.history.object(last);
  const bool owns = block.state == ObjectState::live;
  const bool reused = block.died.valid() && state_.recorder.allocations().covered_since(
                                                memory.owned, state_.history.event(block.died).time_ns);
  if (reused) return std::nullopt;
  return Use{
      last, fmt::format("what it {} at {:#x} was used after its memory was freed, {} into it",
                        owns ? "owns" : "owned", memory.owned, plural(memory.failed - memory.owned, "byte"))};
}

std::string CrashCause::look(long tid, int signal) {
  const auto registers = access_.registers(tid);
  if (!registers) return {};
  const Frames frames(state_, access_, *registers);
  std::vector<Address> failed;
  auto use = find(*registers, frames, signal, failed);
  if (!use && signal == SIGSEGV) {
    if (const auto memory = owned_memory(failed)) {
      if (std::string told = second_owner(memory->owned); !told.empty()) return told;
      use = by_owner(*memory);
    }
  }
  if (!use) return signal == SIGSEGV ? other_memory(*registers, failed) : std::string();
  // What is said of it already explains the crash.
  const std::vector<Finding>& findings = state_.history.findings();
  const bool known = std::any_of(findings.begin(), findings.end(),
                                 [&](const Finding& finding) { return finding.object == use->object; });
  if (known) return {};
  use->how += ": " + signal_name(signal);
  return tell(*use, tid, frames.jumped() ? frames.registers(0) : *registers, frames.jumped(), failed);
}

std::string CrashCause::tell(const Use& use, long tid, Registers here, bool jumped,
                             const std::vector<Address>& failed) {
  if (jumped) here[kRip] -= 1;  // in the call
  const SiteId put = jumped ? SiteId() : begun_put(use.object, own_pc(state_.modules, here.pc()), failed);
  if (put.valid()) here[kRip] = state_.sites.get(put).address;  // where its other events have it
  const EventId event = state_.recorder.on_use(access_, tid, here, use.object, put);
  state_.history.add_finding({Verdict::use_after_free, use.object, event, use.how});
  const Object& object = state_.history.object(use.object);
  return fmt::format("refhist: use-after-free: {} {:#x}: {} at {}; refhist {:#x} shows its history\n",
                     state_.family_name(object.family), object.address, use.how,
                     FrameNamer::text(state_.namer.owner(state_.history.event(event))), object.address);
}

}  // namespace refhist
