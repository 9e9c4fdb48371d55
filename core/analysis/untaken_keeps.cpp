#include "analysis/untaken_keeps.h"

#include <algorithm>

#include "base/error.h"
#include "base/system_path.h"
#include "families/function_pattern.h"
#include "x86/code_jumps.h"
#include "x86/known_functions.h"
#include "x86/straight_way.h"
#include "x86/taken_arguments.h"

namespace refhist {

namespace {

constexpr std::size_t kMostWalked = 500'000;  // KeepWalk's: about a second
constexpr std::size_t kMostUntaken = 4;       // places
constexpr int kMostDepth = 3;                 // of callers that are looked at
constexpr int kMostGiving = 2;                // the same of what gives back
constexpr std::uint64_t kWrapper = 160;       // bytes of code that does little but to allocate
constexpr std::uint64_t kPassesOnly = 48;     // bytes of code that checks its argument and passes it on
constexpr std::uint64_t kMostElements = 32;   // of an array whose elements are looked at one by one
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

/// The innermost one that is not in a header of the distribution.
void add_own_frame(const LoadedModule& loaded, Address at, std::vector<NamedFrame>& found) {
  const std::vector<NamedFrame> frames = frames_at(loaded, at);
  const auto own = std::find_if(frames.begin(), frames.end(),
                                [](const NamedFrame& frame) { return !is_system_path(frame.file); });
  if (own != frames.end()) found.push_back(*own);
}

/// It runs before anything can be kept in the variables that it clears.
bool is_static_initialiser(std::string_view name) {
  return name.find("__static_initialization_and_destruction") != std::string_view::npos ||
         name.starts_with("_GLOBAL__sub_I_") || name.starts_with("__cxx_global_var_init");
}

/// What it stores to its object has no pointer there before.
bool in_inlined_constructor(const LoadedModule& loaded, Address at) {
  const std::vector<SourceFrame> frames = loaded.module->code().source_frames(at);
  return !frames.empty() && frames.front().inlined && is_constructor(frames.front().function);
}

bool points_at(const std::vector<LocalPointer>& variables, const std::string& type) {
  return std::any_of(variables.begin(), variables.end(), [&](const LocalPointer& variable) {
    return variable.behind == 0 && variable.pointee == type;
  });
}

/// In some instruction that accesses memory.
bool has_variable(const Module& module, Address function, const std::string& type) {
  const auto symbol = module.function_at(function);
  if (!symbol) return false;
  DecodedInstruction instruction;
  for (Address at = symbol->address; symbol->range().contains(at); at = instruction.next()) {
    if (!read_instruction(module, at, instruction)) return false;
    const bool memory = std::any_of(
        instruction.operands.begin(), instruction.operands.begin() + instruction.raw.operand_count_visible,
        [](const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_MEMORY; });
    if (memory && points_at(module.pointers_at(at), type)) return true;
  }
  return false;
}

bool writes_through_register(const DecodedInstruction& instruction) {
  const ZydisDecodedOperand& to = instruction.operands[0];
  return (to.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 && to.type == ZYDIS_OPERAND_TYPE_MEMORY &&
         to.mem.base != ZYDIS_REGISTER_RSP && to.mem.base != ZYDIS_REGISTER_RBP;
}

/// `_ZN4Conn…D2Ev`, as complete objects and bases have one.
bool is_destructor(const std::string& name) {
  return name.starts_with("_ZN") && (name.ends_with("D1Ev") || name.ends_with("D2Ev"));
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
  left_behind_.clear();
  gives_member_.clear();
  returns_.clear();
  given_.clear();
  forgotten_.clear();
  borrowed_.clear();
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
    if (entered.change == 0 && takes_floating(called.symbol.name)) entered.change = 1;
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

std::optional<KeepWalk> UntakenKeeps::walk_of(FamilyId family, const Function& function, bool own) {
  const Module& module = function.loaded->module->code();
  const auto symbol = module.function_at(function.begin);
  const bool asked = own || change_at(family, module, function.begin) == 0;
  if (!symbol || !asked || steps_ > kMostWalked) return std::nullopt;
  const auto told = [this, &module](Address target, std::optional<bool>& known, const auto& is) {
    if (known) return *known;
    const auto functions = graph_.entered_at(module, target);
    known = std::any_of(functions.begin(), functions.end(), is);
    return *known;
  };
  KeepWalk::Called called;
  called.ends = [this, family, &module](Address target) { return entered(family, module, target).ends; };
  called.argument = [this, &module](Address target) { return arguments_.of(module, target); };
  called.makes = [this, family, &module, told](Address target) {
    return told(target, entered(family, module, target).makes,
                [&](const CodeGraph::Function& one) { return returns_new_memory(one); });
  };
  called.gives = [this, family, &module, told](Address target) {
    return told(target, entered(family, module, target).gives,
                [&](const CodeGraph::Function& one) { return changes_inside(family, one, -1, kMostGiving); });
  };
  called.gives_member = [this, family, loaded = function.loaded](Address target, std::int64_t offset) {
    return gives_member_back(family, *loaded, target, offset);
  };
  called.wipes = [this, &module](Address target) {
    const auto functions = graph_.entered_at(module, target);
    return std::any_of(functions.begin(), functions.end(), [](const CodeGraph::Function& one) {
      return freed_argument(one.symbol.name) == 1U || clears_memory(one.symbol.name);
    });
  };
  called.destroys = [this, family, &module](Address target) { return destroys(family, module, target); };
  called.takes_over = [this, &module](Address target) { return taken_over(name_at(module, target)); };
  return KeepWalk(module, ranges_of(module, *symbol), change_of(family, module), std::move(called));
}

const UntakenKeeps::Endings& UntakenKeeps::endings_of(const Module& module) {
  const auto [known, added] = endings_.try_emplace(&module);
  Endings& endings = known->second;
  if (!added) return endings;
  for (const auto& [target, callers] : index_of(module).all_calls()) {
    const unsigned argument = freed_by(module, target);
    if (argument == 0) continue;
    for (const auto& [begin, places] : callers) {
      for (const Address at : places) endings[begin][at] = argument;
    }
  }
  for (const FunctionSymbol& function : module.functions()) {
    if (is_destructor(function.name)) endings[function.address];
  }
  return endings;
}

// The function itself, or one that does nothing else with its argument.
unsigned UntakenKeeps::freed_by(const Module& module, Address target) {
  for (const CodeGraph::Function& called : graph_.entered_at(module, target)) {
    if (const auto argument = freed_argument(called.symbol.name)) return *argument;
    if (frees_its_argument(called)) return 1;
  }
  return 0;
}

bool UntakenKeeps::gives_member_back(FamilyId family, const LoadedModule& loaded, Address target,
                                     std::int64_t offset) {
  const Module& module = loaded.module->code();
  const auto [known, added] = gives_member_.try_emplace({family, &module, target, offset}, true);
  const auto functions = graph_.entered_at(module, target);
  if (!added || functions.size() != 1 || functions.front().module != &module || inside_calls_ == kMostGiving)
    return known->second;
  ++inside_calls_;
  if (auto walk = walk_of(family, {&loaded, functions.front().symbol.address})) {
    const auto ended = walk->left({{}, offset});
    steps_ += walk->steps();
    const auto returned = ended.find(0);
    known->second = returned == ended.end() || returned->second.given;
  }
  --inside_calls_;
  return known->second;
}

bool UntakenKeeps::frees_its_argument(const CodeGraph::Function& function) {
  return passes_argument_to(
      function, [](const CodeGraph::Function& one) { return freed_argument(one.symbol.name) == 1U; });
}

bool UntakenKeeps::passes_argument_to(const CodeGraph::Function& function, const Is& is) {
  const FileRange range = function.symbol.range();
  if (range.end - range.begin > kPassesOnly) return false;
  KeepWalk::Wanted wanted;
  wanted.argument = 1;
  DecodedInstruction instruction;
  for (Address at = range.begin; at < range.end; at = instruction.next()) {
    if (!read_instruction(*function.module, at, instruction) || writes_through_register(instruction))
      return false;
    const bool goes = instruction.is_call() || instruction.is_jump() || instruction.is_branch();
    const auto target = goes ? instruction.entered() : std::nullopt;
    if (!target || range.contains(*target)) continue;
    const auto entered = graph_.entered_at(*function.module, *target);
    if (entered.size() != 1 || !is(entered.front())) return false;
    wanted.places.insert(at);
  }
  const auto nothing = [](Address, std::optional<Address>) { return 0; };
  const auto no = [](Address) { return false; };
  KeepWalk walk(*function.module, {range}, nothing,
                {no, no, no, [](Address, std::int64_t) { return false; }, no, no});
  const auto passed = walk.untaken(wanted);
  return passed.size() == 1 && passed.front().from == KeepWalk::Kept::From::argument &&
         passed.front().argument == 1;
}

bool UntakenKeeps::destroys(FamilyId family, const Module& module, Address target) {
  std::optional<bool>& known = entered(family, module, target).destroys;
  if (known) return *known;
  const auto puts = [&](const CodeGraph::Function& one) {
    return change_at(family, *one.module, one.symbol.address) < 0;
  };
  const auto functions = graph_.entered_at(module, target);
  return *(known = std::any_of(functions.begin(), functions.end(), [&](const CodeGraph::Function& one) {
             return one.symbol.address != 0 && (puts(one) || passes_argument_to(one, puts));
           }));
}

UntakenKeeps::Endings UntakenKeeps::handed_on(const Module& module, const std::string& holder) {
  // Where GObjectClass has dispose and finalize, and PyTypeObject tp_free.
  std::vector<std::int64_t> offsets;
  if (module.member_at(holder, 0).path.find("g_type_instance") != std::string::npos) offsets = {0x28, 0x30};
  if (module.member_at(holder, 8).path.ends_with("ob_type")) offsets = {0x140};
  Endings endings;
  for (const std::int64_t offset : offsets) {
    for (const auto& [begin, calls] : index_of(module).calls_through(offset)) {
      if (!has_variable(module, begin, holder)) continue;
      for (const Address at : calls) endings[begin][at] = 1;
    }
  }
  return endings;
}

std::vector<NamedFrame> UntakenKeeps::left_behind(FamilyId family, const LoadedModule& loaded,
                                                  const SlotNames::Name& slot) {
  know_sites();
  if (slot.holder.empty() || slot.is_element()) return {};
  const Module& module = loaded.module->code();
  const auto [known, added] = left_behind_.try_emplace({family, &module, slot.holder, slot.member});
  if (!added) return known->second;
  std::vector<NamedFrame>& found = known->second;
  const std::string destructor = slot.holder + "::~";
  for (const auto& [begin, calls] : endings_of(module)) {
    KeepWalk::Ends ends{{}, slot.offset};
    for (const auto& [at, argument] : calls) {
      if (points_at(module.pointers_at(at), slot.holder)) ends.calls[at] = argument;
    }
    const auto symbol = module.function_at(begin);
    const bool destroys =
        symbol && is_destructor(symbol->name) && demangle(symbol->name).find(destructor) != std::string::npos;
    if (destroys || !ends.calls.empty()) add_left_behind(family, {&loaded, begin}, ends, slot, found);
  }
  // One of the functions that an object passes through on its end is enough.
  std::vector<NamedFrame> last;
  const Endings classes = handed_on(module, slot.holder);
  const bool all = std::all_of(classes.begin(), classes.end(), [&](const auto& one) {
    return add_left_behind(family, {&loaded, one.first}, {one.second, slot.offset}, slot, last);
  });
  if (all) found.insert(found.end(), last.begin(), last.end());
  if (found.size() > kMostUntaken) found.clear();
  return found;
}

bool UntakenKeeps::add_left_behind(FamilyId family, const Function& function, const KeepWalk::Ends& ends,
                                   const SlotNames::Name& slot, std::vector<NamedFrame>& found) {
  auto walk = walk_of(family, function, true);
  if (!walk) return false;
  const auto ended = walk->left(ends);
  steps_ += walk->steps();
  bool all = true;
  for (const auto& [place, how] : ended) {
    const bool destroys = place == 0 && ends.calls.empty();
    if ((place == 0) != destroys) continue;
    all = all && how.left && !how.given;
    if (!how.left || how.given) continue;
    const bool same =
        destroys || how.own || types_at(function, place, walk->held_at(place)).contains(slot.holder);
    if (!same) continue;
    add_own_frame(*function.loaded, how.at, found);
  }
  return all;
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
  found.taken_inside |= walk->takes_for_argument();
  for (const KeepWalk::Kept& kept : untaken) {
    if (kept.filled && !is_borrowed(function.loaded->module->code(), *walk, kept)) continue;
    found.some_taken |= kept.also_taken;
    if (kept.also_taken) found.types.merge(types_at(function, kept.at, kept.held));
    const Module& module = function.loaded->module->code();
    const bool made = !kept.given_back && is_made(family, module, *walk, kept);
    if (made || (looked.given && !is_borrowed(module, *walk, kept))) {
      found.some_made = true;
      continue;
    }
    if (looked.typed && types_at(function, kept.at, kept.held).empty()) continue;
    // What its caller has given it.
    if (looked.wanted.returns && (kept.from == KeepWalk::Kept::From::argument || !kept.also_taken)) continue;
    if (looked.slot != nullptr && !is_slot(kept.slot, *looked.slot, function, *walk)) continue;
    if (!looked.wanted.destroyed) {
      add(family, function, kept, looked, found);
    } else if (const std::string called = called_at(module, kept.at);
               !called.empty() && !has_elements(called)) {
      Looked passed = looked;
      passed.passed_to = called;
      add(family, function, kept, passed, found);
    }
  }
}

// Where the ways part on which a reference is taken, and on which none is: where the pointer was copied, or
// the last line of the latter.
void UntakenKeeps::add_place(const Function& function, const KeepWalk::Kept& kept, const Looked& looked,
                             Found& found) {
  const bool returned = looked.wanted.returns || looked.wanted.forgets;
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
    Found callers =
        find_calls(family, *function.loaded, function.begin, kept.argument, looked.depth - 1, looked.given);
    if (callers.some_taken) {
      found.taken.merge(callers.taken);
      found.types.merge(callers.types);
      found.untaken.insert(found.untaken.end(), callers.untaken.begin(), callers.untaken.end());
      for (const NamedFrame& frame : frames_at(*function.loaded, kept.at))
        found.taken.insert({frame.file, frame.line});
      return;
    }
    // Each caller has one for it.
    if (callers.some_made && callers.untaken.empty() && !found.taken_inside) {
      found.some_made = true;
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

std::set<Address> UntakenKeeps::takers(FamilyId family, const Module& module, int sign) {
  std::set<Address> functions;
  for (auto one = changes_.lower_bound({family, &module, 0}); one != changes_.end(); ++one) {
    const auto& [of, in, at] = one->first;
    if (of != family || in != &module) break;
    const auto function = one->second * sign > 0 ? module.function_at(at) : std::nullopt;
    if (function) functions.insert(function->address);
  }
  for (const auto& [target, callers] : index_of(module).all_calls()) {
    if (entered(family, module, target).change * sign <= 0) continue;
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
    if (signature && signature->returns_pointer) look(family, {&loaded, begin}, returned, found);
  }
  return known->second = places(found);
}

std::string UntakenKeeps::name_at(const Module& module, Address target) {
  const auto entered = graph_.entered_at(module, target);
  return entered.empty() ? std::string() : entered.front().symbol.name;
}

std::string UntakenKeeps::called_at(const Module& module, Address at) {
  DecodedInstruction instruction;
  if (!read_instruction(module, at, instruction)) return {};
  const auto target = instruction.entered();
  return target ? name_at(module, *target) : std::string();
}

std::string UntakenKeeps::called_before(const Module& module, Address behind) {
  const StraightWay way = straight_way_through_call(module, behind);
  return way.instructions.empty() ? std::string() : called_at(module, way.instructions.back().address);
}

std::vector<UntakenKeeps::Place> UntakenKeeps::given(FamilyId family, const LoadedModule& loaded,
                                                     std::string_view container) {
  know_sites();
  const Module& module = loaded.module->code();
  const auto [known, added] = given_.try_emplace({family, &module, std::string(container)});
  if (!added) return known->second;
  std::vector<Place> all = given_by_name(family, loaded, container);
  for (Place& place : given_with_destroyer(family, loaded)) all.push_back(std::move(place));
  if (all.size() > kMostUntaken) all.clear();
  return known->second = std::move(all);
}

std::vector<UntakenKeeps::Place> UntakenKeeps::given_by_name(FamilyId family, const LoadedModule& loaded,
                                                             std::string_view container) {
  std::vector<Place> all;
  const Module& module = loaded.module->code();
  std::vector<std::pair<Looked, Address>> elements;
  for (const auto& [target, callers] : index_of(module).all_calls()) {
    Looked looked;
    looked.passed_to = name_at(module, target);
    looked.depth = kMostDepth;
    looked.given = true;
    looked.wanted.argument = taken_over(looked.passed_to);
    if (looked.wanted.argument) {
      Found found;
      look_at_calls(family, loaded, target, looked, found);
      for (Place& place : places(found)) all.push_back(std::move(place));
    } else if (!container.empty() && container_of(looked.passed_to) == container) {
      looked.wanted.argument = contained(looked.passed_to);
      looked.typed = true;
      if (looked.wanted.argument) elements.emplace_back(std::move(looked), target);
    }
  }
  // Whether whoever adds an element takes the reference is known when all have been seen.
  Found contained;
  for (int round = 0; round < 2; ++round) {
    contained.untaken.clear();
    for (const auto& [looked, target] : elements) look_at_calls(family, loaded, target, looked, contained);
  }
  if (!contained.some_taken) return all;  // other things
  for (Place& place : places(contained)) all.push_back(std::move(place));
  return all;
}

void UntakenKeeps::look_at_calls(FamilyId family, const LoadedModule& loaded, Address target, Looked looked,
                                 Found& found) {
  for (const auto& [begin, places] : index_of(loaded.module->code()).calls(target)) {
    looked.wanted.places = places;
    look(family, {&loaded, begin}, looked, found);
  }
}

std::vector<UntakenKeeps::Place> UntakenKeeps::given_with_destroyer(FamilyId family,
                                                                    const LoadedModule& loaded) {
  const Module& module = loaded.module->code();
  std::set<Address> functions;
  for (const auto& [address, users] : index_of(module).named()) {
    if (destroys(family, module, address)) functions.insert(users.begin(), users.end());
  }
  Looked looked;
  looked.wanted.destroyed = true;
  looked.given = true;
  looked.depth = kMostDepth;
  Found found;
  for (const Address begin : functions) look(family, {&loaded, begin}, looked, found);
  return places(found);
}

std::vector<NamedFrame> UntakenKeeps::forgotten(FamilyId family, const LoadedModule& loaded) {
  know_sites();
  const Module& module = loaded.module->code();
  const auto [known, added] = forgotten_.try_emplace({family, &module});
  if (!added) return known->second;
  Looked looked;
  looked.wanted.forgets = true;
  Found found;
  for (const Address begin : takers(family, module, -1)) look(family, {&loaded, begin}, looked, found);
  for (const Place& place : places(found)) known->second.push_back(place.frame);
  return known->second;
}

UntakenKeeps::Found UntakenKeeps::find_calls(FamilyId family, const LoadedModule& loaded, Address target,
                                             unsigned argument, int depth, bool given) {
  Found found;
  const std::string keeper = name_at(loaded.module->code(), target);
  Looked looked;
  looked.wanted.argument = argument;
  looked.passed_to = keeper.empty() ? "another function" : demangle(keeper);
  looked.depth = depth;
  looked.given = given;
  look_at_calls(family, loaded, target, std::move(looked), found);
  return found;
}

std::vector<UntakenKeeps::Place> UntakenKeeps::calls(FamilyId family, const LoadedModule& loaded,
                                                     Address target, unsigned argument) {
  know_sites();
  return places(find_calls(family, loaded, target, argument, kMostDepth));
}

// Code may have the place's address in a register, or that of what a global variable has it in.
std::set<std::int64_t> UntakenKeeps::offsets_of(const SlotNames::Name& slot, const Module& module) {
  std::set<std::int64_t> offsets{slot.offset, slot.inner_offset, 0};
  try {
    const std::size_t index = slot.member.find('[');
    const auto place = module.member(slot.holder, slot.member.substr(0, index));
    if (!place) return offsets;
    const auto begin = static_cast<std::int64_t>(place->offset);
    offsets.insert(begin);
    // An element whose index is a constant.
    const std::uint64_t size =
        index == std::string::npos ? 0 : std::min<std::uint64_t>(place->size, kMostElements * 8);
    for (std::uint64_t at = 8; at < size; at += 8) offsets.insert(begin + static_cast<std::int64_t>(at));
  } catch (const Error&) {  // a variable, or an element of one
  }
  return offsets;
}

// Of what has the member, or in functions that know such a thing.
std::map<Address, std::vector<UntakenKeeps::Copies>> UntakenKeeps::copies_of(
    const SlotNames::Name& slot, const Module& module, const std::set<std::int64_t>& offsets) {
  std::map<Address, std::vector<Copies>> found;
  const KeepIndex& index = index_of(module);
  for (const std::int64_t offset : offsets) {
    for (const auto& [begin, copies] : index.copies(offset)) found[begin].push_back(copies);
  }
  const auto add_blocks = [&](Address begin, const std::set<Address>& places) {
    const bool knows = std::any_of(places.begin(), places.end(), [&](Address at) {
      return points_at(module.pointers_at(at), slot.holder);
    });
    if (!knows) return;
    for (const std::int64_t offset : offsets) {
      Copies& copies = found[begin].emplace_back();
      for (const Address at : places) copies[at] = offset;
    }
  };
  for (const auto& [begin, places] : index.block_copies()) add_blocks(begin, places);
  for (const auto& [target, callers] : index.all_calls()) {
    if (!copies_memory(name_at(module, target))) continue;
    for (const auto& [begin, places] : callers) add_blocks(begin, places);
  }
  return found;
}

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
  const std::set<std::int64_t> offsets = offsets_of(slot, module);
  for (const std::int64_t offset : offsets) {
    for (const auto& [begin, places] : index_of(module).stores(offset)) {
      looked.wanted.places = places;
      look(family, {&loaded, begin}, looked, found);
    }
  }
  looked.wanted.places.clear();
  for (const auto& [begin, copies] : copies_of(slot, module, offsets)) {
    for (const auto& copy : copies) {
      looked.wanted.copies = copy;
      look(family, {&loaded, begin}, looked, found);
    }
  }
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
  for (const std::int64_t offset : offsets_of(slot, module)) {
    for (const auto& [begin, some] : index.stores(offset)) places[begin].insert(some.begin(), some.end());
    for (const auto& [begin, some] : index.clears(offset)) places[begin].insert(some.begin(), some.end());
  }
  for (const auto& [begin, some] : places)
    add_overwrites(family, {&loaded, begin}, some, slot, known->second);
  return known->second;
}

// What a put keeps, as a list of unused objects does, is nobody's reference.
bool UntakenKeeps::is_inlined_put(FamilyId family, const LoadedModule& loaded, Address at) const {
  const std::vector<SourceFrame> frames = loaded.module->code().source_frames(at);
  const std::vector<Site>& sites = sites_.all();
  return std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
    if (site.family != family || site.role != Role::put || !site.inlined || site.module != loaded.id)
      return false;
    return std::any_of(frames.begin(), frames.end(), [&](const SourceFrame& frame) {
      return frame.inlined && function_part(frame.function) == function_part(site.function);
    });
  });
}

void UntakenKeeps::add_overwrites(FamilyId family, const Function& function, const std::set<Address>& places,
                                  const SlotNames::Name& slot, std::vector<NamedFrame>& found) {
  const auto symbol = function.loaded->module->code().function_at(function.begin);
  auto walk = symbol && is_static_initialiser(symbol->name) ? std::nullopt : walk_of(family, function);
  if (!walk) return;
  const std::vector<Slot> drops = walk->drops(places);
  steps_ += walk->steps();
  const bool constructs = is_constructor(demangle(symbol->name));
  for (const Slot& dropped : drops) {
    if (constructs && dropped.from == Slot::From::argument && dropped.argument == 1) continue;
    if (in_inlined_constructor(*function.loaded, dropped.code)) continue;
    if (!is_slot(dropped, slot, function, *walk) || is_inlined_put(family, *function.loaded, dropped.code))
      continue;
    add_own_frame(*function.loaded, dropped.code, found);
  }
}

}  // namespace refhist
