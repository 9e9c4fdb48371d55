#include "sites/sites_in_place.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/interruption.h"
#include "base/text.h"
#include "discover/callers.h"
#include "families/function_pattern.h"
#include "sites/handed_counter.h"
#include "x86/instruction.h"
#include "x86/stepped_loads.h"

namespace refhist {

namespace {

// A site in code that runs often costs time, though it may be of another type.
constexpr std::size_t kMostSites = 4096;

bool counts_itself(const ProbeSpec& probe) {
  const bool changes = probe.role == Role::get || probe.role == Role::try_get || probe.role == Role::put;
  // Such an object is known from the entry on, or may be an old one: what is done to it inside is its birth,
  // or the get that the call is.
  const bool known_inside =
      probe.role == Role::init && (probe.object.from == ObjectSource::From::argument || probe.may_exist);
  return changes || known_inside;
}

}  // namespace

SitesInPlace::SitesInPlace(FamilyId id, const Family& family, const std::optional<MemberPlace>& counter,
                           const LoadedModule& module)
    : id_(id),
      family_(family),
      counter_(counter),
      loaded_(module),
      module_(*module.module),
      changes_(module_),
      helpers_(module_, changes_, family_),
      last_puts_(module_, helpers_) {}

bool SitesInPlace::knows_counter() const {
  const CounterSpec& spec = family_.counter;
  const bool plain = spec.scale == 1 && spec.shift == 0 && !family_.allocator;
  if (!counter_ || counter_->bits != 0 || !plain || spec.type.empty() || spec.path.empty() ||
      !module_.has_debug_info())
    return false;
  try {
    const auto place = module_.member(spec.type, spec.path);
    return place && place->offset == counter_->offset && place->size == counter_->size;
  } catch (const Error&) {
    return false;
  }
}

bool SitesInPlace::wants(Role role) const {
  if (role == Role::get) return !family_.has_role(Role::get) && !family_.has_role(Role::try_get);
  return !family_.has_role(role);
}

bool SitesInPlace::is_counting(const std::string& linkage, const std::string& demangled) const {
  return std::any_of(family_.probes.begin(), family_.probes.end(), [&](const ProbeSpec& probe) {
    return counts_itself(probe) && FunctionPattern(probe.function).matches(linkage, demangled);
  });
}

bool SitesInPlace::serves_counting(const FunctionSymbol& function) const {
  const bool any = std::any_of(family_.probes.begin(), family_.probes.end(), counts_itself);
  if (!any) return false;
  const std::set<std::string> callers = callers_of(module_, function);
  return !callers.empty() && std::all_of(callers.begin(), callers.end(), [&](const std::string& caller) {
    return is_counting(caller, caller);
  });
}

bool SitesInPlace::may_count(const CodeRange& code) const {
  const InstructionDecoder decoder;
  const auto offset = static_cast<std::int64_t>(counter_->offset);
  const bool embedded = family_.counter.path.find('.') != std::string::npos;
  DecodedInstruction instruction;
  for (Address at = code.address; decoder.decode(code, at, instruction); at = instruction.next()) {
    const auto change = CounterInstruction::of(instruction);
    if (!change || change->opaque || change->size > counter_->size) continue;
    if (change->kind != CounterInstruction::Kind::store) return true;
    // Nearly every function stores something.
    const bool within = change->displacement >= 0 && change->displacement < offset && embedded;
    const bool there = within || change->displacement == offset || change->displacement == 0 ||
                       change->base == CounterInstruction::kNoRegister;
    if (there && change->source != CounterInstruction::kNoRegister) return true;
  }
  return false;
}

void SitesInPlace::add(Role role, const CounterInstruction& instruction,
                       const std::vector<SourceFrame>& frames) {
  const SourceFrame& inner = frames.front();
  Site site;
  site.family = id_;
  site.role = role;
  site.module = loaded_.id;
  site.function = family_.counter.path + (role == Role::get ? "++" : "--");
  site.inlined = true;
  site.inlined_into = fmt::format("{} ({}:{})", inner.function, file_name(inner.file), inner.line);
  site.known_objects_only = true;
  site.counter = instruction;
  site.file_address = instruction.address;
  site.address = instruction.address + loaded_.bias;
  site.size = instruction.length;
  site.copy = {instruction.address, instruction.address + instruction.length};
  found_.push_back(std::move(site));
}

std::optional<CounterInstruction> SitesInPlace::at_place(const MemoryChange& change, Role role,
                                                         const MemberPlace& counter) {
  return CounterFinder(module_, changes_, helpers_, counter, family_).by_displacement(change, role);
}

std::optional<CounterInstruction> SitesInPlace::in_helper(const MemoryChange& change, Role role,
                                                          const SourceFrame& frame) {
  const auto [entry, added] = handed_.try_emplace(frame.function);
  if (added) {
    const auto symbol = module_.function_at(change.instruction.address);
    const auto signature =
        frame.inlined || !symbol ? module_.inlined_signature(frame.function) : module_.signature(*symbol);
    if (signature)
      entry->second = handed_counter(*signature, family_.counter.type, family_.counter.path, module_);
  }
  if (!entry->second) return std::nullopt;
  MemberPlace there = *counter_;
  there.offset = *entry->second;
  return at_place(change, role, there);
}

void SitesInPlace::consider(const MemoryChange& change, int step) {
  const Address at = change.instruction.address;
  const Role role = step > 0 ? Role::get : Role::put;
  if (step == 0 || !wants(role) || taken_.contains(at)) return;
  const std::vector<SourceFrame> frames = module_.source_frames(at);
  const bool told = !frames.empty() && !frames.front().file.empty();
  const bool inside = std::any_of(frames.begin(), frames.end(), [&](const SourceFrame& frame) {
    return is_counting(frame.function, frame.function);
  });
  if (!told || inside) return;
  auto counting = at_place(change, role, *counter_);
  if (!counting) counting = in_helper(change, role, frames.front());
  if (!counting) return;
  if (found_.size() == kMostSites) throw Error("there are more places: only the first ones are armed");
  taken_.insert(at);
  add(role, *counting, frames);
}

// By how much it changes what it finds, only its record tells.
bool SitesInPlace::is_exchange(const CounterInstruction& change) const {
  if (!wants(Role::get) || !wants(Role::put)) return false;
  DecodedInstruction instruction;
  return change.kind == CounterInstruction::Kind::compare_exchange ||
         (change.kind == CounterInstruction::Kind::add &&
          read_instruction(module_, change.address, instruction) &&
          instruction.raw.mnemonic == ZYDIS_MNEMONIC_XADD);
}

void SitesInPlace::look_at_changes(const CodeRange& code, const std::vector<MemoryChange>& changes) {
  const std::map<Address, int> steps = SteppedLoads::in(code);
  for (const MemoryChange& change : changes) {
    if (change.zero_side != 0) continue;
    int step = change.exchanged_step ? static_cast<int>(*change.exchanged_step) : change.instruction.step();
    const auto guess = steps.find(change.instruction.address);
    if (step == 0 && guess != steps.end()) step = guess->second > 0 ? 1 : -1;
    if (step == 0 && is_exchange(change.instruction)) step = -1;
    consider(change, step);
  }
}

void SitesInPlace::look_at_tests(const std::vector<MemoryChange>& changes) {
  const std::set<Address> puts = taken_;
  for (const MemoryChange& change : changes) {
    if (change.zero_side != 0 && last_puts_.is_one(change, puts)) consider(change, -1);
  }
}

void SitesInPlace::look_at(const FunctionSymbol& function, const CodeRange& code) {
  if (!may_count(code)) return;
  const std::size_t before = found_.size();
  const std::vector<MemoryChange>& changes = changes_.around(function.range());
  look_at_changes(code, changes);
  look_at_tests(changes);
  if (found_.size() == before) return;
  if (serves_counting(function)) {
    found_.resize(before);
  } else {
    holders_.insert(function.address);
  }
}

bool SitesInPlace::calls_helper(const CodeRange& code) {
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  for (Address at = code.address; decoder.decode(code, at, instruction); at = instruction.next()) {
    const auto target = instruction.is_call() ? instruction.entered() : std::nullopt;
    if (!target || holders_.contains(*target)) continue;
    const auto [entry, added] = counts_.try_emplace(*target, false);
    if (added) entry->second = helpers_.change_by({at, instruction.raw.length, *target, 0, 1}).has_value();
    if (entry->second) return true;
  }
  return false;
}

void SitesInPlace::look_at_calls(const FunctionSymbol& function) {
  for (const DirectCall& call : changes_.calls_around(function.range())) {
    if (!call.distance || holders_.contains(call.target)) continue;
    if (const auto change = helpers_.change_by(call))
      consider({*change, call.distance, std::nullopt, std::nullopt, 0}, change->step());
  }
}

void SitesInPlace::look_at_all() {
  std::vector<FunctionSymbol> functions;
  std::set<Address> seen;
  for (const FunctionSymbol& function : module_.functions()) {
    if (function.size == 0 || !seen.insert(function.address).second) continue;
    if (!is_counting(function.name, demangle(function.name))) functions.push_back(function);
  }
  const auto each = [&](const auto& look) {
    for (const FunctionSymbol& function : functions) {
      Interruption::check([&] {
        return fmt::format("looking for code in {} that counts {} by hand", file_name(module_.path()),
                           family_.name);
      });
      look(function);
    }
  };
  std::vector<std::uint8_t> bytes;
  each([&](const FunctionSymbol& function) {
    bytes.resize(function.size);
    if (module_.read_code(function.address, bytes.data(), bytes.size()))
      look_at(function, {function.address, bytes});
  });
  each([&](const FunctionSymbol& function) {
    bytes.resize(function.size);
    const bool read = module_.read_code(function.address, bytes.data(), bytes.size());
    if (read && calls_helper({function.address, bytes})) look_at_calls(function);
  });
}

void SitesInPlace::give_up(const std::string& why) {
  Site unknown;
  unknown.family = id_;
  unknown.role = wants(Role::get) ? Role::get : Role::put;
  unknown.module = loaded_.id;
  unknown.function = "counted by hand";
  unknown.why_not = why;
  found_.push_back(std::move(unknown));
}

std::vector<Site> SitesInPlace::find(const std::vector<Site>& others) {
  if ((!wants(Role::get) && !wants(Role::put)) || !knows_counter()) return {};
  for (const Site& site : others) taken_.insert(site.file_address);
  try {
    look_at_all();
  } catch (const Error& stopped) {
    give_up(stopped.what());
  }
  return std::move(found_);
}

}  // namespace refhist
