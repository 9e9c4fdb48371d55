#include "sites/counter_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "discover/refcount_evidence.h"
#include "discover/refcount_names.h"
#include "families/function_pattern.h"
#include "sites/inlined_facts.h"
#include "sites/inlined_sites.h"
#include "sites/object_place.h"
#include "sites/planner.h"

namespace refhist {

namespace {

/// A function of the family in a module, or what its inlined copies were made from.
struct Found {
  const ProbeSpec* probe = nullptr;
  FunctionSymbol function;
  bool inlined = false;   ///< everywhere: the function is a name only
  unsigned argument = 1;  ///< that is the object
};

std::optional<Signature> signature_of(const Module& module, const Found& found) {
  return found.inlined ? module.inlined_signature(found.function.name) : module.signature(found.function);
}

std::optional<Found> find_in(const ProbeSpec& probe, const Module& module) {
  const std::vector<FunctionSymbol> functions = matching_functions(module, probe.function);
  if (!functions.empty() && functions.front().ifunc) return std::nullopt;
  if (!functions.empty()) return Found{&probe, functions.front(), false};
  if (is_glob(probe.function) || !module.has_debug_info()) return std::nullopt;
  for (const std::string& name : inlined_functions(module, probe.function)) {
    if (module.inlined_copies(name).empty()) continue;
    Found copies{&probe, {}, true};
    copies.function.name = name;
    return copies;
  }
  return std::nullopt;
}

/// A family's functions in one module.
class FunctionSearch {
 public:
  FunctionSearch(const Family& family, const Module& module) : family_(family), module_(module) {}

  /// The first function of that role that gets the object itself as an argument.
  std::optional<Found> first_of(Role role) {
    for (const ProbeSpec& probe : family_.probes) {
      const bool plain =
          is_plain(probe) && probe.object.from == ObjectSource::From::argument && probe.times_argument == 0;
      auto found = probe.role == role && plain ? find_in(probe, module_) : std::nullopt;
      if (!found) continue;
      const ObjectSource object = object_of(*found);
      if (object.from == ObjectSource::From::result) continue;
      found->argument = object.argument;
      return found;
    }
    return std::nullopt;
  }

  /// The first one of that role that returns the object.
  std::optional<Found> first_that_returns(Role role) {
    for (const ProbeSpec& probe : family_.probes) {
      auto found = probe.role == role && is_plain(probe) ? find_in(probe, module_) : std::nullopt;
      if (found && object_of(*found).from == ObjectSource::From::result) return found;
    }
    return std::nullopt;
  }

 private:
  static bool is_plain(const ProbeSpec& probe) {
    return !probe.object.indirect && probe.object.adjust == 0 && !probe.inside;
  }

  // Debug information is read where there is a function, and once.
  ObjectSource object_of(const Found& found) {
    if (!shape_) shape_ = object_shape(family_, std::nullopt, module_);
    const auto signature = [&] { return signature_of(module_, found); };
    return object_place(*found.probe, signature, demangle(found.function.name), *shape_).object;
  }

  const Family& family_;
  const Module& module_;
  std::optional<ObjectShape> shape_;
};

/// Does the function count up there, or set 1, in something else than its arguments?
bool counts_there(const WalkedFunction& walked, std::int64_t offset, std::uint8_t size, bool makes) {
  const auto there = [&](const Value& cell, std::uint8_t changed) {
    if (!cell.known() || !cell.exact || changed != size) return false;
    const std::vector<std::int64_t> path = walked.values.path(cell);
    const bool own = walked.values.root_argument(cell) == 0 || path.size() > 1;
    return own && !walked.values.is_stack(cell) && path.back() == offset && (!makes || path.size() == 1);
  };
  const FunctionFacts& facts = walked.facts;
  return std::any_of(facts.stores.begin(), facts.stores.end(),
                     [&](const ConstantStore& store) {
                       return makes && store.value == 1 && there(store.cell, store.size);
                     }) ||
         std::any_of(facts.changes.begin(), facts.changes.end(), [&](const CounterChange& change) {
           return change.delta == 1 && there(change.cell, change.size);
         });
}

/// A get and a put of a family in one module.
class CounterSearch {
 public:
  CounterSearch(const Family& family, const LoadedModule& module, const Found& get, const Found& put)
      : family_(family),
        module_(*module.module),
        get_(get),
        put_(put),
        index_({module.module}),
        walker_(index_) {}

  CounterByCode judge();
  /// The family has no get that is handed the object: `other` returns it, new or with one reference more.
  CounterByCode judge_by(const Found& other);

 private:
  [[nodiscard]] WalkedFunction walk(const Found& found) const;
  [[nodiscard]] bool is_object(const CounterEvidence& counter) const;
  /// Fills `found`, or `rivals`.
  void find(std::vector<CounterEvidence> counters, CounterByCode& code) const;
  [[nodiscard]] std::string type() const;
  /// Nothing where its neighbours in the word would be taken for references.
  [[nodiscard]] std::optional<CounterSpec> spec(const CounterEvidence& counter) const;
  /// By debug information; empty where that has none.
  [[nodiscard]] std::string path_of(const CounterEvidence& counter) const;

  const Family& family_;
  const Module& module_;
  const Found& get_;
  const Found& put_;
  FunctionIndex index_;
  CodeWalker walker_;
};

WalkedFunction CounterSearch::walk(const Found& found) const {
  if (found.inlined) return facts_of_copies(module_, index_, found.function.name);
  WalkedFunction walked;
  walked.facts = walker_.walk({&module_, found.function.address}, walked.values);
  return walked;
}

bool CounterSearch::is_object(const CounterEvidence& counter) const {
  return counter.get_argument == get_.argument && counter.put_argument == put_.argument;
}

CounterByCode CounterSearch::judge() {
  CounterByCode code;
  code.module = module_.path();
  code.get = demangle(get_.function.name);
  code.put = demangle(put_.function.name);
  const WalkedFunction taken = walk(get_);
  std::vector<CounterEvidence> counters = find_counters(taken, walk(put_), true);
  if (!family_.counter.offset) {
    find(std::move(counters), code);
    return code;
  }
  if (counters.empty() || !is_object(counters.front())) return code;
  const CounterEvidence& seen = counters.front();
  CounterEvidence as_said = seen;
  as_said.offset = static_cast<std::int64_t>(*family_.counter.offset);
  if (!changes_counter(taken, seen.get_argument, as_said))
    code.elsewhere = {static_cast<std::uint64_t>(seen.offset), seen.size, true};
  return code;
}

CounterByCode CounterSearch::judge_by(const Found& other) {
  CounterByCode code;
  code.module = module_.path();
  code.get = demangle(other.function.name);
  code.put = demangle(put_.function.name);
  const WalkedFunction given = walk(put_);
  const WalkedFunction counting = walk(other);
  std::vector<CounterEvidence> counters;
  for (const CounterChange& change : given.facts.changes) {
    if (!change.cell.known()) continue;
    const std::vector<std::int64_t> path = given.values.path(change.cell);
    const bool counts = change.delta == -1 && change.cell.exact && path.size() == 1 &&
                        given.values.root_argument(change.cell) == put_.argument;
    const bool known =
        counts && std::any_of(counters.begin(), counters.end(),
                              [&](const CounterEvidence& seen) { return seen.offset == path.front(); });
    if (!counts || known ||
        !counts_there(counting, path.front(), change.size, other.probe->role == Role::init))
      continue;
    CounterEvidence& counter = counters.emplace_back();
    counter.get_argument = counter.put_argument = put_.argument;
    counter.offset = path.front();
    counter.size = change.size;
  }
  find(std::move(counters), code);
  return code;
}

// A function may count something else beside: then the member's name has to tell. Of a counter that goes down
// with each get, nothing tells at which number there is none left.
void CounterSearch::find(std::vector<CounterEvidence> counters, CounterByCode& code) const {
  std::erase_if(counters, [&](const CounterEvidence& counter) {
    return !is_object(counter) || !counter.place_known_in_put || counter.step < 0;
  });
  if (counters.size() > 1) {
    for (const CounterEvidence& counter : counters) {
      const std::string path = path_of(counter);
      code.rivals.push_back(path.empty() ? fmt::format("offset {}", counter.offset) : path);
    }
    std::erase_if(counters,
                  [&](const CounterEvidence& counter) { return !is_count_of_references(path_of(counter)); });
  }
  if (counters.size() != 1) return;
  code.found = spec(counters.front());
  if (code.found) code.rivals.clear();
}

std::string CounterSearch::type() const {
  if (!family_.counter.type.empty()) return family_.counter.type;
  const auto signature = signature_of(module_, get_);
  ObjectSource object;
  object.argument = get_.argument;
  return signature ? object_type(*signature, object) : std::string();
}

std::string CounterSearch::path_of(const CounterEvidence& counter) const {
  const std::string name = type();
  if (name.empty() || counter.offset < 0) return {};
  CounterSpec spec;
  set_place(counter, spec);
  if (name_bit_field(module_, name, spec) && !spec.path.empty()) return spec.path;
  return module_.member_at(name, static_cast<std::uint64_t>(counter.offset)).plain_path();
}

std::optional<CounterSpec> CounterSearch::spec(const CounterEvidence& counter) const {
  CounterSpec spec = family_.counter;
  spec.type = type();
  set_place(counter, spec);
  if (!name_bit_field(module_, spec.type, spec)) return std::nullopt;
  if (!spec.offset) return spec;
  const std::string path = path_of(counter);
  if (path.empty()) return spec;
  try {
    const auto place = module_.member(spec.type, path);
    if (place && place->offset == *spec.offset && place->size == counter.size) spec.path = path;
  } catch (const Error&) {
    return std::nullopt;
  }
  return spec;
}

}  // namespace

std::optional<CounterByCode> counter_by_code(const Family& family,
                                             const std::vector<const LoadedModule*>& modules) {
  for (const LoadedModule* module : modules) {
    if (!wants_module(family, *module->module)) continue;
    FunctionSearch functions(family, *module->module);
    const auto put = functions.first_of(Role::put);
    if (!put) continue;
    if (const auto get = functions.first_of(Role::get))
      return CounterSearch(family, *module, *get, *put).judge();
    if (family.counter.offset) continue;
    for (const Role role : {Role::init, Role::get}) {
      const auto other = functions.first_that_returns(role);
      if (!other) continue;
      CounterByCode code = CounterSearch(family, *module, *put, *put).judge_by(*other);
      if (code.found) return code;
    }
  }
  return std::nullopt;
}

}  // namespace refhist
