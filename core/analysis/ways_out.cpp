#include "analysis/ways_out.h"

#include <algorithm>
#include <memory>

#include "analysis/frame_module.h"
#include "x86/code_jumps.h"

namespace refhist {

namespace {

// A function that leaves in so many ways without a put has another use for the reference.
constexpr std::size_t kMostLostWays = 3;
constexpr std::size_t kMostCopies = 16;  // of an inlined function that are looked at

/// "Handle" of "mail::Handle::post(int)".
std::string plain_name(const std::string& function) {
  const std::string name = function.substr(0, function.find('('));
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

bool is_result(ZydisRegister name) { return MachineState::number_of(name) == 0U; }

/// What the instruction does with the result of a call: uses it, or asks whether it is zero as a number, or
/// puts something else in its place; nothing where it has nothing to do with it.
std::optional<bool> uses_result(const DecodedInstruction& instruction) {
  if (instruction.is_call()) return false;
  if (instruction.is_return()) return true;
  const bool clears = instruction.raw.mnemonic == ZYDIS_MNEMONIC_XOR &&
                      instruction.operands[0].reg.value == instruction.operands[1].reg.value;
  for (unsigned i = 0; i < instruction.raw.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool memory = operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
    if (memory && (is_result(operand.mem.base) || is_result(operand.mem.index))) return true;
    if (!is_register(operand) || !is_result(operand.reg.value)) continue;
    const bool reads = !clears && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    return reads && (instruction.raw.mnemonic != ZYDIS_MNEMONIC_TEST || operand.size != 32);
  }
  return std::nullopt;
}

/// Of a call that returns to `behind`: its result is not used as a pointer, as far as the code goes straight
/// on.
bool leaves_result(const Module& module, Address behind) {
  constexpr int kMost = 16;
  DecodedInstruction instruction;
  for (int i = 0; i < kMost && read_instruction(module, behind, instruction); ++i) {
    if (const auto uses = uses_result(instruction)) return !*uses;
    const auto target = instruction.is_jump() ? instruction.branch_target() : instruction.next();
    if (!target) return false;
    behind = *target;
  }
  return false;
}

Address in_file(const NamedFrame& frame, const LoadedModule& loaded) { return frame.pc - loaded.bias; }

}  // namespace

// Of an instruction that is a site its own address is known, of calls where they return to.
bool WaysOut::Here::contains(const NamedFrame& frame) const {
  const Address at = in_file(frame, *loaded);
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const FileRange& range) { return range.contains(at - 1) || range.contains(at); });
}

std::vector<WaysOut::Here> WaysOut::copies_of(const NamedFrame& frame) const {
  const LoadedModule* loaded = module_of(modules_, frame);
  if (loaded == nullptr || frame.file.empty()) return {};
  const Module& module = loaded->module->code();
  std::vector<Here> all;
  const auto function = module.function_at(in_file(frame, *loaded) - 1);
  if (!frame.inlined && function && function->size != 0)
    all.push_back({loaded, ranges_of(module, *function), function->address, false});
  for (const InlinedCopy& copy : module.inlined_copies(plain_name(frame.function)))
    all.push_back({loaded, copy.ranges, copy.address, true});
  std::stable_partition(all.begin(), all.end(), [&](const Here& here) { return here.contains(frame); });
  return all;
}

void WaysOut::know_sites() {
  if (sites_seen_ == sites_.all().size()) return;
  sites_seen_ = sites_.all().size();
  puts_.clear();
  counting_gets_.clear();
  for (const Site& site : sites_.all()) {
    const LoadedModule* module = modules_.get(site.module);
    if (site.role == Role::put && module != nullptr)
      puts_[{&module->module->code(), site.file_address}].insert(site.family);
    if (site.counter && direction(site.role) > 0 && module != nullptr)
      counting_gets_.insert({&module->module->code(), site.file_address});
  }
}

bool WaysOut::enters_put(FamilyId family, const Module& module, Address target) {
  for (const CodeGraph::Function& function : graph_.entered_at(module, target)) {
    const auto known = puts_.find({function.module, function.symbol.address});
    if (known != puts_.end() && known->second.contains(family)) return true;
  }
  return false;
}

bool WaysOut::counts_argument(const Site& site, const Module& module, Address behind) {
  const auto function = module.function_at(behind - 1);
  const auto target = function ? graph_.call_before(module, *function, behind) : std::nullopt;
  const LoadedModule* there = modules_.get(site.module);
  if (!target || there == nullptr) return false;
  const auto entered = graph_.entered_at(module, *target);
  const auto at = std::find_if(entered.begin(), entered.end(), [&](const CodeGraph::Function& one) {
    return one.module == &there->module->code() && one.symbol.address == site.file_address;
  });
  if (at == entered.end()) return false;
  const auto signature = at->module->signature(at->symbol);
  return signature ? !signature->returns_pointer : leaves_result(module, behind);
}

FunctionWays::GivesBack WaysOut::gives_back(FamilyId family, const Here& here,
                                            const std::vector<NamedFrame>& puts) {
  know_sites();
  const Module& module = here.loaded->module->code();
  auto returns = std::make_shared<std::set<Address>>();
  auto entered = std::make_shared<std::set<Address>>();
  auto slots = std::make_shared<std::set<std::int64_t>>();  // of virtual functions
  for (const NamedFrame& put : puts) {
    const Address pc = in_file(put, *here.loaded);
    const auto function = module.function_at(pc - 1);
    if (puts_.contains({&module, pc}) || !function)
      continue;  // an instruction, and no call that returns there
    returns->insert(pc);
    if (const auto target = graph_.call_before(module, *function, pc)) entered->insert(*target);
    if (const auto slot = slot_before(module, *function, pc)) slots->insert(*slot);
  }
  return [=, this, &module](Address at, Address next, std::optional<Address> call) {
    if (returns->contains(next)) return true;
    const auto slot = slots->empty() || call ? std::nullopt : slot_of(module, at);
    if (slot && slots->contains(*slot)) return true;
    const auto known = puts_.find({&module, at});
    if (known != puts_.end() && known->second.contains(family)) return true;
    return call && (entered->contains(*call) || enters_put(family, module, *call));
  };
}

unsigned WaysOut::line_of(Address at, const NamedFrame& frame, const Here& here) const {
  for (const SourceFrame& source : here.loaded->module->code().source_frames(at)) {
    if (source.function == frame.function && source.file == frame.file) return source.line;
  }
  return 0;
}

std::vector<LineRow> WaysOut::rows_of(const Here& here) {
  std::vector<LineRow> rows;
  for (const FileRange& range : here.ranges) {
    const std::vector<LineRow> some = here.loaded->module->code().line_rows(range, range.begin);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

WaysOut::Lines WaysOut::lines_of(const std::set<Address>& instructions, const NamedFrame& frame,
                                 const Here& here) const {
  Lines lines;
  unsigned first = ~0U;
  unsigned last = 0;
  for (const Address at : instructions) {
    const unsigned line = line_of(at, frame, here);
    if (line == 0) continue;
    lines[at].insert(line);
    first = std::min(first, line);
    last = std::max(last, line);
  }
  const std::vector<LineRow> rows = rows_of(here);
  std::set<std::uint64_t> files;
  for (const LineRow& row : rows) {
    const auto own = lines.find(row.address);
    if (own != lines.end() && own->second.contains(row.line)) files.insert(row.file);
  }
  for (const LineRow& row : rows) {
    if (row.statement && files.contains(row.file) && row.line >= first && row.line <= last &&
        instructions.contains(row.address))
      lines[row.address].insert(row.line);
  }
  return lines;
}

// Of the file that this line is of: what is inlined there has lines of others.
std::set<unsigned> WaysOut::lines_around(Address at, const Here& here) {
  const std::vector<LineRow> rows = rows_of(here);
  const auto behind =
      std::find_if(rows.begin(), rows.end(), [at](const LineRow& row) { return row.address > at; });
  std::set<unsigned> lines;
  for (const LineRow& row : rows) {
    if (behind != rows.begin() && row.file == std::prev(behind)->file) lines.insert(row.line);
  }
  return lines;
}

// Compilers make copies of what several ways have in common: its lines say nothing of this way.
WaysOut::Place WaysOut::place_of(const LostWay& way, const std::set<Address>& good, const NamedFrame& frame,
                                 const Here& here) {
  NamedFrame place = frame;
  place.lost = nullptr;
  place.pc = here.loaded->bias + way.branch;
  place.line = 0;
  // The closing brace, where a way ends that has an end of its own.
  const unsigned brace = way.leave && !here.inlined ? line_of(*way.leave, frame, here) : 0;
  std::set<Address> all = good;
  all.insert(way.own.begin(), way.own.end());
  const Lines lines = lines_of(all, frame, here);
  std::set<unsigned> common;
  for (const auto& [at, some] : lines) {
    if (good.contains(at)) common.insert(some.begin(), some.end());
  }
  bool is_common = true;
  for (const Address at : way.own) {
    const auto found = lines.find(at);
    if (found == lines.end()) continue;
    for (const unsigned line : found->second) {
      const bool shared = common.contains(line);
      if (line == brace || (shared && !is_common) || (shared == is_common && line < place.line)) continue;
      is_common = shared;
      place.line = line;
      place.pc = here.loaded->bias + at;
    }
  }
  const unsigned moved = way.moved && way.again ? line_of(*way.moved, frame, here) : 0;
  if (moved != 0) {
    place.line = moved;
    place.pc = here.loaded->bias + *way.moved;
    return {std::move(place), way.passed_on, way.handed_over, false, false, way.stored, false, true};
  }
  const bool own_line = place.line != 0 && !is_common;
  if (place.line == 0) place.line = line_of(way.branch, frame, here);
  if (const auto jump =
          statements_.behind(place.file, place.line, lines_around(place.pc - here.loaded->bias, here)))
    place.line = *jump;
  return {std::move(place), way.passed_on, way.handed_over, way.own.empty() && way.again, false,
          way.stored,       own_line};
}

FunctionWays::Code WaysOut::whole_code(const Here& here) {
  FunctionWays::Code code{
      &here.loaded->module->code(), here.ranges, here.begin, false, here.inlined, false, {}};
  code.argument = [this, module = code.module](Address target) { return arguments_.of(*module, target); };
  return code;
}

FunctionWays::Code WaysOut::code_of(const Holding& held, const Here& here) {
  know_sites();
  FunctionWays::Code code = whole_code(here);
  code.from = in_file(held.taken, *here.loaded);
  code.taken = true;
  code.elsewhere = held.elsewhere;
  code.by_argument = held.by_argument;
  code.passed = held.passed;
  code.borrows = [this, module = code.module](Address target, unsigned argument) {
    return borrowing_.leaves(*module, target, argument);
  };
  const bool known = held.taker.valid();
  code.handed_out = known && sites_.get(held.taker).returns_object();
  code.passed_in =
      known && !code.handed_out && counts_argument(sites_.get(held.taker), *code.module, code.from);
  DecodedInstruction change;
  if (counting_gets_.contains({code.module, code.from}) &&
      read_instruction(*code.module, code.from, change)) {
    code.counted = code.from;
    code.from = change.next();
  }
  return code;
}

WaysOut::Kept& WaysOut::kept_of(const NamedFrame& frame, CallDoes does) {
  const auto [entry, added] = kept_.try_emplace({frame.pc, does});
  Kept& kept = entry->second;
  if (!added) return kept;
  const std::vector<Here> copies = copies_of(frame);
  if (copies.empty() || !copies.front().contains(frame)) return kept;
  kept = read_kept(copies.front(), frame, does);
  auto around = kept.held == Held::unknown && frame.inlined ? kept_around(frame, does) : std::nullopt;
  if (around) kept = std::move(*around);
  return kept;
}

WaysOut::Kept WaysOut::read_kept(const Here& here, const NamedFrame& frame, CallDoes does) {
  Kept kept;
  kept.module = &here.loaded->module->code();
  kept.function = here.begin;
  FunctionWays ways(whole_code(here));
  kept.held = ways.held(in_file(frame, *here.loaded), does);
  kept.slot = ways.slot();
  if (kept.slot.from == Slot::From::result) kept.called = ways.called_before(kept.slot.behind);
  return kept;
}

// Of an inlined copy the code around knows more.
const SlotNames::Name& WaysOut::kept_in(const NamedFrame& frame, CallDoes does) {
  Kept& kept = kept_of(frame, does);
  if (kept.name) return *kept.name;
  kept.name = SlotNames::Name();
  if (kept.held != Held::memory) return *kept.name;
  kept.name = name_of(kept);
  kept.name->on_some_paths = kept.slot.on_some_paths;
  const auto around = kept.name->holder.empty() && frame.inlined ? kept_around(frame, does) : std::nullopt;
  if (around && around->held == Held::memory) {
    SlotNames::Name name = name_of(*around);
    if (!name.holder.empty()) kept.name = std::move(name);
  }
  return *kept.name;
}

SlotNames::Name WaysOut::name_of(const Kept& kept) {
  SlotNames::Name name = slot_names_.name(kept.slot, *kept.module, kept.function, kept.called);
  if (!kept.slot.steps.empty() && name.offset == 0) name.offset = kept.slot.steps.back();
  return name;
}

std::optional<WaysOut::Kept> WaysOut::kept_around(const NamedFrame& frame, CallDoes does) {
  const LoadedModule* loaded = module_of(modules_, frame);
  if (loaded == nullptr) return std::nullopt;
  const Module& module = loaded->module->code();
  const auto function = module.function_at(in_file(frame, *loaded) - 1);
  if (!function) return std::nullopt;
  return read_kept({loaded, {function->range()}, function->address, false}, frame, does);
}

void WaysOut::find(FamilyId family, const NamedFrame& frame, const Here& here,
                   const std::vector<NamedFrame>& puts, std::vector<Place>& places) {
  const Module& module = here.loaded->module->code();
  const FunctionWays::GivesBack gives = gives_back(family, here, puts);
  const auto ends = [&](Address target) { return graph_.ends_path(module, target); };
  FunctionWays::Code code = whole_code(here);
  FunctionWays ways(code);
  std::vector<LostWay> lost = ways.lost(gives, ends);
  const auto obtained = ways.obtained();
  if (!obtained) return add(lost, ways, frame, here, places);
  code.from = obtained->from;
  code.taken = true;
  code.loaded = obtained->loaded;
  code.reg = obtained->reg;
  FunctionWays behind(code);
  lost = behind.lost(gives, ends);
  add(lost, behind, frame, here, places);
}

void WaysOut::add(const std::vector<LostWay>& lost, const FunctionWays& ways, const NamedFrame& frame,
                  const Here& here, std::vector<Place>& places) {
  if (lost.size() > ways.puts()) return;  // then it is no exception
  for (const LostWay& way : lost) {
    Place place = place_of(way, ways.good(), frame, here);
    place.in_hand = ways.behind_call();
    const bool known = std::any_of(places.begin(), places.end(),
                                   [&](const Place& other) { return other.frame.line == place.frame.line; });
    if (place.frame.line != 0 && !known) places.push_back(std::move(place));
  }
}

std::vector<WaysOut::Place> WaysOut::likeliest(std::vector<Place> places) {
  if (places.size() > kMostLostWays) return {};
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.passed_on < b.passed_on; });
  return places;
}

std::vector<WaysOut::Place> WaysOut::behind(const Holding& held) {
  const std::vector<Here> copies = copies_of(held.taken);
  if (copies.empty() || !copies.front().contains(held.taken)) return {};
  const Here& here = copies.front();
  const Module& module = here.loaded->module->code();
  const auto ends = [&](Address target) { return graph_.ends_path(module, target); };
  FunctionWays::Code code = code_of(held, here);
  std::vector<Place> places;
  for (const bool by_argument : {true, false}) {
    if (!places.empty() || (by_argument && !code.by_argument)) continue;
    code.by_argument = by_argument;
    FunctionWays ways(code);
    add(ways.lost(gives_back(held.family, here, held.puts), ends), ways, held.taken, here, places);
  }
  return likeliest(std::move(places));
}

const std::vector<WaysOut::Place>& WaysOut::from_begin(FamilyId family, const std::vector<NamedFrame>& puts) {
  static const std::vector<Place> kNone;
  if (puts.empty()) return kNone;
  const auto [entry, added] = known_.try_emplace({family, puts.front().function, puts.size()});
  if (!added) return entry->second;
  std::vector<Place> places;
  std::vector<Here> copies = copies_of(puts.front());
  if (copies.size() > kMostCopies) copies.resize(kMostCopies);
  for (const Here& here : copies) find(family, puts.front(), here, puts, places);
  return entry->second = likeliest(std::move(places));
}

std::vector<NamedFrame> WaysOut::leaving(const Holding& held) { return leaving(held, &FunctionWays::leaves); }

std::vector<NamedFrame> WaysOut::dropping(const Holding& held) { return leaving(held, &FunctionWays::drops); }

std::vector<NamedFrame> WaysOut::overwriting(const Holding& held) {
  return leaving(held, &FunctionWays::overwrites);
}

std::vector<NamedFrame> WaysOut::last_uses(const Holding& held) {
  return leaving(held, &FunctionWays::last_uses);
}

std::vector<NamedFrame> WaysOut::leaving(const Holding& held, Places places_of) {
  const NamedFrame& taken = held.taken;
  const std::vector<Here> copies = copies_of(taken);
  if (copies.empty() || !copies.front().contains(taken)) return {};
  const Here& here = copies.front();
  const Module& module = here.loaded->module->code();
  FunctionWays ways(code_of(held, here));
  const auto ends = [&](Address target) { return graph_.ends_path(module, target); };
  const auto gives = gives_back(held.family, here, held.puts);
  std::vector<Address> places = (ways.*places_of)(gives, ends);
  const std::vector<Address> instructions = ways.instructions();
  const bool at_end = places_of == &FunctionWays::leaves || places_of == &FunctionWays::drops;
  const bool on_some_way = places_of == &FunctionWays::drops && ways.keeps_on_some_way();
  const bool of_copy = here.inlined && at_end && !on_some_way && !places.empty();
  if (of_copy) places = {end_of(instructions, taken, here)};
  std::map<unsigned, NamedFrame> by_line;
  for (Address at : places) {
    if (on_some_way) at = last_of_own(at, instructions, taken, here);
    NamedFrame place = taken;
    place.lost = nullptr;
    place.pc = here.loaded->bias + at;
    place.line = line_of(at, taken, here);
    const auto jump = on_some_way || of_copy
                          ? statements_.behind(place.file, place.line, lines_around(at, here))
                          : std::nullopt;
    place.line = jump.value_or(place.line);
    if (place.line != 0) by_line.try_emplace(place.line, std::move(place));
  }
  if (by_line.size() > kMostLostWays) return {};
  std::vector<NamedFrame> frames;
  for (auto& [line, place] : by_line) frames.push_back(std::move(place));
  return frames;
}

// Where a copy is left, the code may be of the function around it.
Address WaysOut::last_of_own(Address at, const std::vector<Address>& instructions, const NamedFrame& frame,
                             const Here& here) const {
  const auto behind = std::upper_bound(instructions.begin(), instructions.end(), at);
  const auto own = std::find_if(std::make_reverse_iterator(behind), instructions.rend(),
                                [&](Address one) { return line_of(one, frame, here) != 0; });
  return own == instructions.rend() ? at : *own;
}

// A copy has no code where it ends: its last line comes nearest.
Address WaysOut::end_of(const std::vector<Address>& instructions, const NamedFrame& frame,
                        const Here& here) const {
  return *std::max_element(instructions.begin(), instructions.end(), [&](Address a, Address b) {
    return line_of(a, frame, here) < line_of(b, frame, here);
  });
}

}  // namespace refhist
