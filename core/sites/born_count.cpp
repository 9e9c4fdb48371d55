#include "sites/born_count.h"

#include <algorithm>

#include "base/system_path.h"
#include "families/function_pattern.h"
#include "sites/inlined_facts.h"
#include "sites/inlined_sites.h"
#include "sites/object_place.h"
#include "sites/planner.h"
#include "x86/instruction_effects.h"
#include "x86/known_functions.h"

namespace refhist {

namespace {

constexpr std::int64_t kMost = 16;          // references that a new object has; more is no count
constexpr std::size_t kFunctionsEach = 16;  // that one pattern matches; the others do alike

/// What the walk through one function says of the counter of the object that it makes.
class BirthFacts {
 public:
  BirthFacts(const WalkedFunction& walked, const MemberPlace& counter, const CounterSpec& spec)
      : walked_(walked), counter_(counter), spec_(spec) {}

  [[nodiscard]] std::optional<std::int64_t> references(const ObjectSource& object) const {
    std::optional<std::int64_t> most;
    for (const Value& cell : cells(object)) {
      const auto stored = references_at(cell);
      if (stored && *stored >= 0 && *stored <= kMost) most = std::max(most.value_or(0), *stored);
    }
    return most;
  }

 private:
  /// Where its counter is: of whatever new is returned, or of the argument.
  [[nodiscard]] std::vector<Value> cells(const ObjectSource& object) const {
    std::vector<Value> found;
    if (object.indirect) return found;
    if (object.from == ObjectSource::From::argument)
      found.push_back(walked_.values.argument(object.argument));
    if (object.from == ObjectSource::From::result) {
      for (const Value& result : walked_.facts.results) {
        const bool fresh = result.known() && result.exact && !walked_.values.is_constant(result) &&
                           walked_.values.root_argument(result) == 0 &&
                           walked_.values.path(result).size() == 1;
        if (fresh) found.push_back(result);
      }
    }
    for (Value& cell : found) cell.offset += object.adjust + static_cast<std::int64_t>(counter_.offset);
    return found;
  }

  /// Nothing where the function itself does more to it than to store constants.
  [[nodiscard]] std::optional<std::int64_t> references_at(const Value& cell) const {
    const auto& changes = walked_.facts.changes;
    const bool counts = std::any_of(changes.begin(), changes.end(), [&](const CounterChange& change) {
      return change.cell == cell && change.depth == 0;
    });
    if (counts) return std::nullopt;
    std::optional<std::int64_t> most;
    for (const ConstantStore& store : walked_.facts.stores) {
      const auto raw = part(store, cell);
      if (raw) most = std::max(most.value_or(INT64_MIN), read(*raw));
    }
    return most || !is_cleared(cell) ? most : std::optional(read(0));
  }

  /// Compilers store at once what lies side by side.
  [[nodiscard]] std::optional<std::uint64_t> part(const ConstantStore& store, const Value& cell) const {
    if (store.cell.place != cell.place || !store.cell.exact) return std::nullopt;
    const std::int64_t within = cell.offset - store.cell.offset;
    if (store.further && within >= 0) return 0;
    if (within < 0 || within + counter_.size > store.size) return std::nullopt;
    return static_cast<std::uint64_t>(store.value) >> (8 * within);
  }

  [[nodiscard]] bool is_cleared(const Value& cell) const {
    const auto& calls = walked_.facts.calls;
    return std::any_of(calls.begin(), calls.end(), [&](const CallFact& call) {
      return clears_memory(call.callee) && call.first.place == cell.place && call.first.exact &&
             call.first.offset <= cell.offset;
    });
  }

  [[nodiscard]] std::int64_t read(std::uint64_t raw) const {
    std::int64_t value = as_signed(static_cast<std::int64_t>(raw), counter_.size) >> counter_.first_bit;
    if (counter_.bits != 0) value &= static_cast<std::int64_t>((std::uint64_t{1} << counter_.bits) - 1);
    return spec_.scale * (value >> spec_.shift) + spec_.bias;
  }

  const WalkedFunction& walked_;
  const MemberPlace& counter_;
  const CounterSpec& spec_;
};

/// The births of a family in one module.
class BirthSearch {
 public:
  BirthSearch(const Family& family, const MemberPlace& counter, const std::shared_ptr<const Module>& module)
      : family_(family),
        counter_(counter),
        module_(*module),
        shape_(object_shape(family, counter, *module)),
        index_({module}),
        walker_(index_) {}

  void look_at(const ProbeSpec& probe, BornByCode& least) {
    std::size_t looked = 0;
    for (const FunctionSymbol& function : matching_functions(module_, probe.function)) {
      if (function.ifunc || ++looked > kFunctionsEach) continue;
      WalkedFunction walked;
      walked.facts = walker_.walk({&module_, function.address}, walked.values);
      const auto signature = [&] { return module_.signature(function); };
      judge(probe, walked, signature, demangle(function.name), least);
    }
    if (looked != 0 || !module_.has_debug_info()) return;
    for (const std::string& name : inlined_functions(module_, probe.function)) {
      if (module_.inlined_copies(name).empty() || ++looked > kFunctionsEach) continue;
      const auto signature = [&] { return module_.inlined_signature(name); };
      judge(probe, facts_of_copies(module_, index_, name), signature, demangle(name), least);
    }
  }

 private:
  void judge(const ProbeSpec& probe, const WalkedFunction& walked,
             const std::function<std::optional<Signature>()>& signature, const std::string& name,
             BornByCode& least) const {
    const ObjectPlace place = object_place(probe, signature, name, shape_);
    const auto references = BirthFacts(walked, counter_, family_.counter).references(place.object);
    if (references && (!least.references || *references < *least.references))
      least = BornByCode{references, function_part(name)};
  }

  const Family& family_;
  const MemberPlace& counter_;
  const Module& module_;
  ObjectShape shape_;
  FunctionIndex index_;
  CodeWalker walker_;
};

bool has_births(const Family& family, const Module& module) {
  return std::any_of(family.probes.begin(), family.probes.end(), [&](const ProbeSpec& probe) {
    return probe.role == Role::init &&
           (defines_function(module, probe.function) || inlines_function(module, probe.function));
  });
}

}  // namespace

std::optional<BornByCode> born_by_code(const Family& family, const MemberPlace& counter,
                                       const std::vector<const LoadedModule*>& modules) {
  std::optional<BornByCode> found;
  for (const LoadedModule* loaded : modules) {
    const Module& module = *loaded->module;
    const bool namesakes = family.modules.empty() && is_system_path(module.path());
    if (namesakes || !wants_module(family, module) || !has_births(family, module)) continue;
    if (!found) found.emplace();
    BirthSearch search(family, counter, loaded->module);
    for (const ProbeSpec& probe : family.probes) {
      if (probe.role == Role::init && !probe.inside) search.look_at(probe, *found);
    }
  }
  return found;
}

}  // namespace refhist
