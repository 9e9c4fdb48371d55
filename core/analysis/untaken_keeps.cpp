#include "analysis/untaken_keeps.h"

#include <algorithm>

#include "base/system_path.h"
#include "x86/code_jumps.h"
#include "x86/known_functions.h"

namespace refhist {

namespace {

constexpr std::size_t kMostWalked = 500'000;  // KeepWalk's: about a second
constexpr std::size_t kMostUntaken = 4;       // places
constexpr int kMostDepth = 3;                 // of callers that are looked at
constexpr int kMostGiving = 2;                // the same of what gives back
constexpr std::uint64_t kWrapper = 160;       // bytes of code that does little but to allocate
constexpr int kMostCalled = 5;                // of calls by which a function may take a reference

bool takes(Role role) {
  return role == Role::get || role == Role::try_get || role == Role::init || role == Role::alloc;
}

/// With the functions that the code is inlined into, outwards; empty where there is no line.
std::vector<NamedFrame> frames_at(const LoadedModule& loaded, Address at) {
  std::vector<NamedFrame> frames;
  for (const SourceFrame& source : loaded.module->code().source_frames(at)) {
    if (source.file.empty() || source.line == 0) break;
    NamedFrame frame;
    frame.function = source.function;
    frame.file = source.file;
    frame.line = source.line;
    frame.module = loaded.module->path();
    frame.pc = loaded.bias + at;
    frame.inlined = source.inlined;
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace

void UntakenKeeps::know_sites() {
  if (sites_seen_ == sites_.all().size()) return;
  sites_seen_ = sites_.all().size();
  changes_.clear();
  changes_inside_.clear();
  entered_.clear();
  stores_.clear();
  overwrites_.clear();
  returns_.clear();
  for (const Site& site : sites_.all()) {
    const LoadedModule* loaded = modules_.get(site.module);
    const int change = takes(site.role) ? 1 : site.role == Role::put ? -1 : 0;
    if (loaded != nullptr && change != 0)
      changes_[{site.family, &loaded->module->code(), site.file_address}] = change;
  }
}

int UntakenKeeps::change_at(FamilyId family, const Module& module, Address at) const {
  const auto found = changes_.find({family, &module, at});
  return found == changes_.end() ? 0 : found->second;
}

bool UntakenKeeps::takes_inside(FamilyId family, const CodeGraph::Function& function, int depth) {
  return changes_inside(family, function, 1, depth);
}

bool UntakenKeeps::changes_inside(FamilyId family, const CodeGraph::Function& function, int sign, int depth) {
  const auto key = std::tuple(family, function.module, function.symbol.address, sign, depth);
  const auto [entry, added] = changes_inside_.try_emplace(key, false);
  if (!added || depth == 0) return entry->second;
  const FileRange range = function.symbol.range();
  const auto end = changes_.lower_bound({family, function.module, range.end});
  bool found = std::any_of(changes_.lower_bound({family, function.module, range.begin}), end,
                           [&](const auto& one) { return one.second == sign; });
  for (const Address target : calls_out_of(*function.module, function.symbol, range)) {
    if (found) break;
    const auto entered = graph_.entered_at(*function.module, target);
    found = std::any_of(entered.begin(), entered.end(), [&](const CodeGraph::Function& called) {
      return changes_inside(family, called, sign, depth - 1);
    });
  }
  return changes_inside_[key] = found;
}

UntakenKeeps::Entered& UntakenKeeps::entered(FamilyId family, const Module& module, Address target) {
  const auto [known, added] = entered_.try_emplace({family, &module, target});
  Entered& entered = known->second;
  if (!added) return entered;
  for (const CodeGraph::Function& called : graph_.entered_at(module, target)) {
    if (entered.change == 0) entered.change = change_at(family, *called.module, called.symbol.address);
    entered.ends |= ends_the_path(called.symbol.name);
  }
  return entered;
}

KeepWalk::Change UntakenKeeps::change_of(FamilyId family, const Module& module) {
  return [this, family, &module](Address at, std::optional<Address> call) {
    const int change = change_at(family, module, at);
    return change != 0 || !call ? change : entered(family, module, *call).change;
  };
}

bool UntakenKeeps::is_made(FamilyId family, const Module& module, const KeepWalk& walk,
                           const KeepWalk::Kept& kept) {
  const auto target =
      kept.from == KeepWalk::Kept::From::result ? walk.called_before(kept.behind) : std::nullopt;
  if (!target) return false;
  const auto entered = graph_.entered_at(module, *target);
  return std::any_of(entered.begin(), entered.end(), [&](const CodeGraph::Function& called) {
    return takes_inside(family, called, kMostCalled);
  });
}

const KeepIndex& UntakenKeeps::index_of(const Module& module) {
  std::unique_ptr<KeepIndex>& index = indexes_[&module];
  if (!index) index = std::make_unique<KeepIndex>(module);
  return *index;
}

std::optional<KeepWalk> UntakenKeeps::walk_of(FamilyId family, const Function& function) {
  const Module& module = function.loaded->module->code();
  const auto symbol = module.function_at(function.begin);
  if (!symbol || change_at(family, module, function.begin) != 0 || steps_ > kMostWalked) return std::nullopt;
  const auto told = [this, &module](Address target, std::optional<bool>& known, const auto& is) {
    if (known) return *known;
    const auto functions = graph_.entered_at(module, target);
    known = std::any_of(functions.begin(), functions.end(), is);
    return *known;
  };
  KeepWalk::Called called;
  called.ends = [this, family, &module](Address target) { return entered(family, module, target).ends; };
  called.makes = [this, family, &module, told](Address target) {
    return told(target, entered(family, module, target).makes,
                [&](const CodeGraph::Function& one) { return returns_new_memory(one); });
  };
  called.gives = [this, family, &module, told](Address target) {
    return told(target, entered(family, module, target).gives,
                [&](const CodeGraph::Function& one) { return changes_inside(family, one, -1, kMostGiving); });
  };
  return KeepWalk(module, ranges_of(module, *symbol), change_of(family, module), std::move(called));
}

bool UntakenKeeps::returns_new_memory(const CodeGraph::Function& function) {
  if (makes_memory(function.symbol.name)) return true;
  if (function.symbol.size > kWrapper) return false;
  for (const Address target : calls_out_of(*function.module, function.symbol, function.symbol.range())) {
    for (const CodeGraph::Function& called : graph_.entered_at(*function.module, target)) {
      if (makes_memory(called.symbol.name)) return true;
    }
  }
  return false;
}

bool UntakenKeeps::is_slot(const Slot& slot, const SlotNames::Name& wanted, const Function& function,
                           const KeepWalk& walk) {
  const bool result = slot.from == Slot::From::result;
  const auto called = result ? walk.called_before(slot.behind) : std::nullopt;
  const SlotNames::Name name = names_.name(slot, function.loaded->module->code(), function.begin, called);
  return name.same_place(wanted);
}

void UntakenKeeps::look(FamilyId family, const Function& function, const Looked& looked, Found& found) {
  auto walk = walk_of(family, function);
  if (!walk) return;
  const auto untaken = walk->untaken(looked.wanted);
  steps_ += walk->steps();
  for (const Address at : walk->taken()) {
    found.types.merge(types_at(function, at, walk->held_at(at)));
    for (const NamedFrame& frame : frames_at(*function.loaded, at))
      found.taken.insert({frame.file, frame.line});
  }
  found.some_taken |= !walk->taken().empty();
  for (const KeepWalk::Kept& kept : untaken) {
    found.some_taken |= kept.also_taken;
    if (kept.also_taken) found.types.merge(types_at(function, kept.at, kept.held));
    if (is_made(family, function.loaded->module->code(), *walk, kept)) continue;
    // What its caller has given it.
    if (looked.wanted.returns && (kept.from == KeepWalk::Kept::From::argument || !kept.also_taken)) continue;
    if (looked.slot != nullptr && !is_slot(kept.slot, *looked.slot, function, *walk)) continue;
    add(family, function, kept, looked, found);
  }
}

// Where the ways part on which a reference is taken, and on which none is: where the pointer was copied, or
// the last line of the latter.
void UntakenKeeps::add_place(const Function& function, const KeepWalk::Kept& kept, const Looked& looked,
                             Found& found) {
  const bool returned = looked.wanted.returns;
  std::vector<NamedFrame> frames = frames_at(*function.loaded, kept.at);
  const std::set<std::string> types = types_at(function, kept.at, kept.held);
  std::vector<Address> own;
  if (returned)
    own = kept.own;
  else if (kept.copied)
    own = {*kept.copied};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    unsigned last = last_line(function, own, frames[i]);
    if (last == 0 && returned && kept.parted) last = last_line(function, {*kept.parted}, frames[i]);
    if (last == 0) continue;
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<NamedFrame> before = frames;
    before.front().line = returned ? jump_behind(function, kept.at, frames.front().file, last) : last;
    found.untaken.push_back({std::move(before), looked.passed_to, types});
    if (returned) return;
    break;
  }
  if (!frames.empty()) found.untaken.push_back({std::move(frames), looked.passed_to, types});
}

unsigned UntakenKeeps::last_line(const Function& function, const std::vector<Address>& own,
                                 const NamedFrame& frame) {
  unsigned last = 0;
  for (const Address at : own) {
    for (const SourceFrame& source : function.loaded->module->code().source_frames(at)) {
      if (source.function == frame.function && source.line < frame.line) last = std::max(last, source.line);
    }
  }
  return last;
}

std::set<std::string> UntakenKeeps::types_at(const Function& function, Address at, const ValuePlaces& held) {
  std::set<std::string> types;
  if (at == 0) return types;
  for (const LocalPointer& variable : function.loaded->module->code().pointers_at(at)) {
    if (variable.behind == 0 && is_held(variable, held)) types.insert(variable.pointee);
  }
  return types;
}

unsigned UntakenKeeps::jump_behind(const Function& function, Address at, const std::string& file,
                                   unsigned line) {
  const Module& module = function.loaded->module->code();
  std::set<unsigned> compiled;
  for (const LineRow& row : module.line_rows(module.function_at(function.begin)->range(), at))
    compiled.insert(row.line);
  return jumps_.behind(file, line, compiled).value_or(line);
}

void UntakenKeeps::add(FamilyId family, const Function& function, const KeepWalk::Kept& kept,
                       const Looked& looked, Found& found) {
  if (kept.from == KeepWalk::Kept::From::argument && kept.own.empty() && looked.depth > 0) {
    Found callers = find_calls(family, *function.loaded, function.begin, kept.argument, looked.depth - 1);
    if (callers.some_taken) {
      found.taken.merge(callers.taken);
      found.types.merge(callers.types);
      found.untaken.insert(found.untaken.end(), callers.untaken.begin(), callers.untaken.end());
      for (const NamedFrame& frame : frames_at(*function.loaded, kept.at))
        found.taken.insert({frame.file, frame.line});
      return;
    }
  }
  add_place(function, kept, looked, found);
}

std::vector<UntakenKeeps::Place> UntakenKeeps::places(const Found& found) {
  std::map<Line, Place> by_line;
  for (const auto& [frames, passed_to, types] : found.untaken) {
    const bool same = found.types.empty() || types.empty() ||
                      std::any_of(types.begin(), types.end(),
                                  [&found](const std::string& type) { return found.types.contains(type); });
    if (!same) continue;  // another thing in a container
    auto frame = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& one) {
      return !found.taken.contains({one.file, one.line}) && !is_system_path(one.file);
    });
    if (frame == frames.end()) frame = frames.begin();
    const bool inlined = frame != frames.begin();
    by_line.try_emplace({frame->file, frame->line},
                        Place{*frame, inlined ? std::prev(frame)->function : passed_to});
  }
  std::vector<Place> places;
  if (by_line.size() > kMostUntaken) return places;
  for (auto& [line, place] : by_line) places.push_back(std::move(place));
  return places;
}

std::set<Address> UntakenKeeps::takers(FamilyId family, const Module& module) {
  std::set<Address> functions;
  for (auto one = changes_.lower_bound({family, &module, 0}); one != changes_.end(); ++one) {
    const auto& [of, in, at] = one->first;
    if (of != family || in != &module) break;
    const auto function = one->second > 0 ? module.function_at(at) : std::nullopt;
    if (function) functions.insert(function->address);
  }
  for (const auto& [target, callers] : index_of(module).all_calls()) {
    if (entered(family, module, target).change <= 0) continue;
    for (const auto& [begin, places] : callers) functions.insert(begin);
  }
  return functions;
}

std::vector<UntakenKeeps::Place> UntakenKeeps::returns(FamilyId family, const LoadedModule& loaded) {
  know_sites();
  const Module& module = loaded.module->code();
  const auto [known, added] = returns_.try_emplace({family, &module});
  if (!added) return known->second;
  Found found;
  Looked returned;
  returned.wanted.returns = true;
  for (const Address begin : takers(family, module)) {
    const auto symbol = module.function_at(begin);
    const auto signature = symbol ? module.signature(*symbol) : std::nullopt;
    if (signature && !signature->result_pointee.empty()) look(family, {&loaded, begin}, returned, found);
  }
  return known->second = places(found);
}

UntakenKeeps::Found UntakenKeeps::find_calls(FamilyId family, const LoadedModule& loaded, Address target,
                                             unsigned argument, int depth) {
  Found found;
  const auto keepers = graph_.entered_at(loaded.module->code(), target);
  Looked looked;
  looked.wanted.argument = argument;
  looked.passed_to = keepers.empty() ? "another function" : demangle(keepers.front().symbol.name);
  looked.depth = depth;
  for (const auto& [begin, places] : index_of(loaded.module->code()).calls(target)) {
    looked.wanted.places = places;
    look(family, {&loaded, begin}, looked, found);
  }
  return found;
}

std::vector<UntakenKeeps::Place> UntakenKeeps::calls(FamilyId family, const LoadedModule& loaded,
                                                     Address target, unsigned argument) {
  know_sites();
  return places(find_calls(family, loaded, target, argument, kMostDepth));
}

// Code may have the place's address in a register.
std::vector<UntakenKeeps::Place> UntakenKeeps::stores(FamilyId family, const LoadedModule& loaded,
                                                      const SlotNames::Name& slot) {
  know_sites();
  if (slot.holder.empty()) return {};
  const Module& module = loaded.module->code();
  const auto [known, added] = stores_.try_emplace({family, &module, slot.holder, slot.member});
  if (!added) return known->second;
  Found found;
  Looked looked;
  looked.slot = &slot;
  looked.depth = kMostDepth;
  const auto look_at = [&](std::int64_t offset) {
    for (const auto& [begin, places] : index_of(module).stores(offset)) {
      looked.wanted.places = places;
      look(family, {&loaded, begin}, looked, found);
    }
  };
  look_at(slot.offset);
  if (slot.offset != 0) look_at(0);
  return known->second = places(found);
}

std::vector<NamedFrame> UntakenKeeps::overwrites(FamilyId family, const LoadedModule& loaded,
                                                 const SlotNames::Name& slot) {
  know_sites();
  if (slot.holder.empty()) return {};
  const Module& module = loaded.module->code();
  const auto [known, added] = overwrites_.try_emplace({family, &module, slot.holder, slot.member});
  if (!added) return known->second;
  std::map<Address, std::set<Address>> places;
  const KeepIndex& index = index_of(module);
  for (const std::int64_t offset : std::set<std::int64_t>{slot.offset, 0}) {
    for (const auto& [begin, some] : index.stores(offset)) places[begin].insert(some.begin(), some.end());
    for (const auto& [begin, some] : index.clears(offset)) places[begin].insert(some.begin(), some.end());
  }
  for (const auto& [begin, some] : places)
    add_overwrites(family, {&loaded, begin}, some, slot, known->second);
  return known->second;
}

void UntakenKeeps::add_overwrites(FamilyId family, const Function& function, const std::set<Address>& places,
                                  const SlotNames::Name& slot, std::vector<NamedFrame>& found) {
  auto walk = walk_of(family, function);
  if (!walk) return;
  const std::vector<Slot> drops = walk->drops(places);
  steps_ += walk->steps();
  for (const Slot& dropped : drops) {
    if (!is_slot(dropped, slot, function, *walk)) continue;
    const std::vector<NamedFrame> frames = frames_at(*function.loaded, dropped.code);
    const auto own = std::find_if(frames.begin(), frames.end(),
                                  [](const NamedFrame& frame) { return !is_system_path(frame.file); });
    if (own != frames.end()) found.push_back(*own);
  }
}

}  // namespace refhist
