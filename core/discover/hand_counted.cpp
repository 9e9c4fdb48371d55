#include "discover/hand_counted.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/interruption.h"
#include "base/text.h"
#include "discover/refcount_names.h"
#include "x86/code_walker.h"
#include "x86/decoded_instruction.h"
#include "x86/known_functions.h"

namespace refhist {

namespace {

constexpr std::size_t kMostFunctions = 20000;  // of a module that is looked through
constexpr std::size_t kMostWalks = 3000;
constexpr std::uint64_t kLargest = 64 * 1024;  // bytes of a type that is looked through

struct CountedType {
  std::string name;  // as debug information has it
  std::string path;  // of the counter
  MemberPlace counter;
  std::uint64_t size = 0;
  bool taken = false;  // somewhere one is added
  bool given = false;  // somewhere one is taken away, and the object given back
  std::vector<std::string> births;
};

class HandCountedSearch {
 public:
  HandCountedSearch(const std::shared_ptr<const Module>& module, const std::set<std::string>& known)
      : module_(*module), known_(known), index_({module}), walker_(index_) {}

  std::vector<Proposal> proposals();

 private:
  struct Function {
    const FunctionSymbol* symbol = nullptr;
    Signature signature;
  };

  void collect_functions();
  /// The type that is called so, if it has a counter; found once.
  CountedType* counted(const std::string& type);
  [[nodiscard]] std::optional<CountedType> read(const std::string& type) const;
  template <class Is>
  [[nodiscard]] bool any_instruction(const FunctionSymbol& function, Is&& is) const;
  [[nodiscard]] bool may_count(const FunctionSymbol& function) const;
  void look_at(const Function& function);
  /// What a cell of a walk is the counter of; null where that is not told.
  CountedType* owner(const WalkedFunction& walked, const Function& function, const Value& cell);
  void look_for_birth(const WalkedFunction& walked, const Function& function);
  [[nodiscard]] bool passes(const FunctionSymbol& function, std::uint64_t size) const;
  [[nodiscard]] Proposal proposal(const CountedType& type) const;

  const Module& module_;
  const std::set<std::string>& known_;
  FunctionIndex index_;
  CodeWalker walker_;
  std::vector<Function> functions_;
  std::map<std::string, CountedType> types_;       // by their full names
  std::map<std::string, std::string> full_names_;  // by how a signature calls them; empty: no such type
};

void HandCountedSearch::collect_functions() {
  for (const FunctionSymbol& symbol : module_.functions()) {
    Interruption::check([this] { return fmt::format("searching {}", file_name(module_.path())); });
    if (symbol.ifunc || symbol.size == 0 || clone_kind(symbol.name) == CloneKind::cold) continue;
    if (const auto signature = module_.signature(symbol)) functions_.push_back({&symbol, *signature});
  }
  for (const Function& function : functions_) {
    counted(function.signature.result_pointee);
    for (const Parameter& parameter : function.signature.parameters) counted(parameter.pointee);
  }
}

std::optional<CountedType> HandCountedSearch::read(const std::string& type) const {
  constexpr std::uint64_t kStep = 4;
  const auto size = module_.type_size(type);
  if (!size || *size > kLargest) return std::nullopt;
  std::optional<CountedType> found;
  for (std::uint64_t offset = 0; offset < *size; offset += kStep) {
    const MemberAt member = module_.member_at(type, offset);
    const std::string path = member.plain_path();
    if (path.empty() || path.find('.') != std::string::npos || !is_count_of_references(path)) continue;
    if (!member.pointee.empty() || (found && found->path != path)) return std::nullopt;
    const auto place = module_.member(type, path);
    if (!place || place->bits != 0 || place->size < kStep || place->size > sizeof(std::int64_t))
      return std::nullopt;
    found = CountedType{
        member.inner_type.empty() ? type : member.inner_type, path, *place, *size, false, false, {}};
  }
  return found;
}

CountedType* HandCountedSearch::counted(const std::string& type) {
  if (type.empty()) return nullptr;
  const auto [entry, added] = full_names_.try_emplace(type);
  if (added) {
    try {
      auto found = read(type);
      if (found && !found->name.empty() && !known_.contains(found->name)) {
        entry->second = found->name;
        types_.try_emplace(found->name, std::move(*found));
      }
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      entry->second.clear();
    }
  }
  return entry->second.empty() ? nullptr : &types_.at(entry->second);
}

template <class Is>
bool HandCountedSearch::any_instruction(const FunctionSymbol& function, Is&& is) const {
  std::vector<std::uint8_t> bytes(function.size);
  if (!module_.read_code(function.address, bytes.data(), bytes.size())) return false;
  const InstructionDecoder decoder;
  const CodeRange code{function.address, bytes};
  DecodedInstruction instruction;
  for (Address at = code.address; decoder.decode(code, at, instruction); at = instruction.next()) {
    if (is(instruction)) return true;
  }
  return false;
}

bool HandCountedSearch::may_count(const FunctionSymbol& function) const {
  return any_instruction(function, [&](const DecodedInstruction& instruction) {
    const ZydisDecodedOperand& target = instruction.operands[0];
    if (instruction.raw.operand_count_visible == 0 || target.type != ZYDIS_OPERAND_TYPE_MEMORY) return false;
    const auto displacement = static_cast<std::uint64_t>(target.mem.disp.value);
    return std::any_of(types_.begin(), types_.end(),
                       [&](const auto& type) { return type.second.counter.offset == displacement; });
  });
}

CountedType* HandCountedSearch::owner(const WalkedFunction& walked, const Function& function,
                                      const Value& cell) {
  const unsigned argument = walked.values.root_argument(cell);
  const std::vector<std::int64_t> path = walked.values.path(cell);
  const auto& parameters = function.signature.parameters;
  if (argument == 0 || argument > parameters.size() || path.empty() || path.size() > 2 || !cell.exact)
    return nullptr;
  std::string type = parameters[argument - 1].pointee;
  if (path.size() == 2 && (type.empty() || path[0] < 0)) return nullptr;
  if (path.size() == 2) type = module_.member_at(type, static_cast<std::uint64_t>(path[0])).pointee;
  CountedType* known = counted(type);
  return known != nullptr && static_cast<std::int64_t>(known->counter.offset) == path.back() ? known
                                                                                             : nullptr;
}

void HandCountedSearch::look_at(const Function& function) {
  WalkedFunction walked;
  walked.facts = walker_.walk({&module_, function.symbol->address}, walked.values);
  for (const CounterChange& change : walked.facts.changes) {
    CountedType* type = change.depth == 0 ? owner(walked, function, change.cell) : nullptr;
    if (type == nullptr || change.size != type->counter.size) continue;
    type->taken |= change.delta == 1;
    if (change.delta != -1) continue;
    Value object = change.cell;
    object.offset -= static_cast<std::int64_t>(type->counter.offset);
    const auto& calls = walked.facts.calls;
    type->given |= std::any_of(calls.begin(), calls.end(), [&](const CallFact& call) {
      return call.first == object && !call.used_after && gives_back(call.callee);
    });
  }
  look_for_birth(walked, function);
}

bool HandCountedSearch::passes(const FunctionSymbol& function, std::uint64_t size) const {
  return any_instruction(function, [size](const DecodedInstruction& instruction) {
    const auto& operands = instruction.operands;
    const bool argument =
        instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        (operands[0].reg.value == ZYDIS_REGISTER_EDI || operands[0].reg.value == ZYDIS_REGISTER_ESI) &&
        operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    return argument && operands[1].imm.value.u == size;
  });
}

// New memory of the type's size, in which one is stored at the counter; in one place of the function alone,
// as any store with that displacement would count.
void HandCountedSearch::look_for_birth(const WalkedFunction& walked, const Function& function) {
  const auto& calls = walked.facts.calls;
  const bool allocates = std::any_of(calls.begin(), calls.end(), [](const CallFact& call) {
    return call.depth == 1 && makes_memory(call.callee);
  });
  if (!allocates) return;
  for (auto& [name, type] : types_) {
    std::set<std::uint32_t> places;
    for (const ConstantStore& store : walked.facts.stores) {
      const Value& cell = store.cell;
      const bool fresh = walked.values.root_argument(cell) == 0 && walked.values.path(cell).size() == 1 &&
                         !walked.values.is_constant(cell) && !walked.values.is_stack(cell) && cell.exact;
      const bool counts = store.value == 1 && store.depth == 0 && store.size == type.counter.size &&
                          cell.offset == static_cast<std::int64_t>(type.counter.offset);
      if (fresh && counts) places.insert(cell.place.value);
    }
    if (places.size() == 1 && passes(*function.symbol, type.size))
      type.births.push_back(function.symbol->name);
  }
}

Proposal HandCountedSearch::proposal(const CountedType& type) const {
  Proposal found;
  found.module = module_.path();
  found.why = fmt::format("{} is counted by hand", type.path);
  Family& family = found.family;
  family.name = type.name;
  family.description = found.why;
  family.modules = {file_name(module_.path())};
  family.origin = "discover";
  family.counter.type = type.name;
  family.counter.path = type.path;
  family.born_given = true;
  for (const std::string& function : type.births) {
    ProbeSpec birth;
    birth.role = Role::init;
    birth.function = function;
    birth.object.from = ObjectSource::From::result;
    birth.inside = true;
    birth.origin = "discover";
    family.probes.push_back(std::move(birth));
  }
  return found;
}

std::vector<Proposal> HandCountedSearch::proposals() {
  std::vector<Proposal> found;
  if (!module_.has_debug_info() || module_.functions().size() > kMostFunctions) return found;
  collect_functions();
  if (types_.empty()) return found;
  std::size_t walks = 0;
  for (const Function& function : functions_) {
    Interruption::check([this] { return fmt::format("searching {}", file_name(module_.path())); });
    if (walks == kMostWalks) break;
    if (!may_count(*function.symbol)) continue;
    ++walks;
    look_at(function);
  }
  for (const auto& [name, type] : types_) {
    if (type.taken && type.given && !type.births.empty()) found.push_back(proposal(type));
  }
  return found;
}

}  // namespace

std::vector<Proposal> hand_counted(const std::vector<std::shared_ptr<const Module>>& modules,
                                   const std::set<std::string>& known) {
  std::vector<Proposal> found;
  for (const auto& module : modules) {
    for (Proposal& proposal : HandCountedSearch(module, known).proposals())
      found.push_back(std::move(proposal));
  }
  return found;
}

}  // namespace refhist
