// The way of a proposal: functions whose names pair up (refcount_names), whose signatures agree where there
// is debug information, and whose code changes one counter up and down (refcount_evidence). Pairs of one
// subject and one counter become one family; constructors and conditional gets of the same subject join it.
#include "discover/discover.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/interruption.h"
#include "base/text.h"
#include "discover/callers.h"
#include "discover/handed_out.h"
#include "discover/refcount_evidence.h"
#include "discover/refcount_names.h"
#include "families/function_pattern.h"
#include "x86/code_walker.h"
#include "x86/function_index.h"

namespace refhist {
namespace {

struct Candidate {
  FunctionSymbol symbol;
  std::string name;      ///< probe_name()'s
  bool inlined = false;  ///< everywhere: the symbol is a name only
};

struct ProvenPair {
  NamePair names;
  CounterEvidence counter;
  std::string type;  ///< of the object, by debug information; may be empty
};

class ModuleSearch {
 public:
  ModuleSearch(const Module& module, const FunctionIndex& index, const DiscoverOptions& options)
      : module_(module), index_(index), options_(options), walker_(index) {
    collect_candidates();
    if (options.copies && module.has_debug_info()) collect_inlined();
  }

  std::vector<Proposal> proposals();

 private:
  void collect_candidates();
  void collect_inlined();
  const WalkedFunction& walked(std::size_t candidate);
  const std::optional<Signature>& signature(std::size_t candidate);
  std::optional<ProvenPair> prove(const NamePair& names);
  std::optional<CounterEvidence> counter_by_types(const NamePair& names);
  /// False when debug information says that the two take different types; `type` is what they take.
  bool signatures_agree(const NamePair& names, const CounterEvidence& counter, std::string& type);
  std::string pointee(std::size_t candidate, unsigned argument);
  std::string put_type(std::size_t candidate, const CounterEvidence& counter);

  Proposal propose(const std::vector<ProvenPair>& pairs);
  std::vector<Proposal> without_inner(std::vector<Proposal> proposals,
                                      const std::vector<std::vector<ProvenPair>>& pairs);
  [[nodiscard]] std::string member_of(const CounterSpec& counter) const;
  /// By those alone, as far as can be seen.
  [[nodiscard]] bool is_used_by(std::size_t candidate, const std::set<std::string>& functions) const;
  void add_births(const ProvenPair& pair, Family& family);
  bool add_birth_by_pointer(const ProvenPair& pair, std::size_t candidate, Family& family);
  bool is_birth_by_name(const ProvenPair& pair, std::size_t candidate);
  void add_births_by_type(const ProvenPair& pair, Family& family);
  void add_constructors(const ProvenPair& pair, Family& family);
  void add_conditional_gets(const ProvenPair& pair, Family& family);
  static void add_probe(Family& family, Role role, const std::string& function, const ObjectSource& object,
                        Success success = Success::always);
  CounterSpec counter_spec(const ProvenPair& pair);

  const Module& module_;
  const FunctionIndex& index_;
  const DiscoverOptions& options_;
  CodeWalker walker_;
  std::vector<Candidate> candidates_;
  std::map<std::size_t, WalkedFunction> walked_;
  std::map<std::size_t, std::optional<Signature>> signatures_;
};

ObjectSource argument_source(unsigned number, bool indirect = false) {
  ObjectSource source;
  source.argument = static_cast<std::uint8_t>(number);
  source.indirect = indirect;
  return source;
}

ObjectSource result_source() {
  ObjectSource source;
  source.from = ObjectSource::From::result;
  return source;
}

/// "libjson-c.so.5.2.0" -> "libjson-c.so*", so that the family outlives the next version.
std::string module_glob(const std::string& path) {
  const std::string name = file_name(path);
  const std::size_t so = name.find(".so");
  return so == std::string::npos ? name : name.substr(0, so + 3) + "*";
}

/// "net::Conn::Conn" of the type net::Conn, "Ref<Page>::Ref" of Ref<Page>.
bool is_constructor_of(std::string_view class_name, std::string_view function) {
  if (class_name.empty() || !function.starts_with(class_name)) return false;
  std::string_view plain = class_name.substr(0, class_name.find('<'));
  const std::size_t scope = plain.rfind("::");
  if (scope != std::string_view::npos) plain.remove_prefix(scope + 2);
  const std::string_view rest = function.substr(class_name.size());
  return rest.starts_with("::") && rest.substr(2) == plain;
}

void ModuleSearch::collect_candidates() {
  for (const FunctionSymbol& symbol : module_.functions()) {
    const bool thunk = symbol.name.starts_with("_ZT");
    if (clone_kind(symbol.name) != CloneKind::whole || symbol.ifunc || thunk) continue;
    candidates_.push_back({symbol, probe_name(symbol.name)});
  }
}

void ModuleSearch::collect_inlined() {
  std::set<std::string> own_code;
  for (const Candidate& candidate : candidates_) own_code.insert({candidate.symbol.name, candidate.name});
  for (const std::string& name : module_.inlined_functions()) {
    if (own_code.contains(name)) continue;
    FunctionSymbol symbol;
    symbol.name = name;
    candidates_.push_back({symbol, probe_name(name), true});
  }
}

const WalkedFunction& ModuleSearch::walked(std::size_t candidate) {
  const auto [entry, missing] = walked_.try_emplace(candidate);
  if (!missing) return entry->second;
  WalkedFunction& function = entry->second;
  const Candidate& of = candidates_[candidate];
  if (of.inlined) {
    function = options_.copies(module_, index_, of.symbol.name);
  } else {
    function.facts = walker_.walk({&module_, of.symbol.address}, function.values);
  }
  return function;
}

const std::optional<Signature>& ModuleSearch::signature(std::size_t candidate) {
  const auto [entry, missing] = signatures_.try_emplace(candidate);
  if (missing && module_.has_debug_info()) {
    const Candidate& of = candidates_[candidate];
    entry->second = of.inlined ? module_.inlined_signature(of.symbol.name) : module_.signature(of.symbol);
  }
  return entry->second;
}

std::string ModuleSearch::pointee(std::size_t candidate, unsigned argument) {
  const auto& known = signature(candidate);
  if (!known || known->parameters.size() < argument) return "";
  return known->parameters[argument - 1].pointee;
}

/// "struct conn" of "struct conn **"; empty for other types.
std::string_view behind_two_pointers(std::string_view type) {
  return type.ends_with("**") ? trim(type.substr(0, type.size() - 2)) : std::string_view();
}

/// Of conn_unref(struct conn **), what the pointer at the pointer points at.
std::string ModuleSearch::put_type(std::size_t candidate, const CounterEvidence& counter) {
  if (!counter.put_indirect) return pointee(candidate, counter.put_argument);
  const auto& known = signature(candidate);
  if (!known || known->parameters.size() < counter.put_argument) return "";
  return std::string(behind_two_pointers(known->parameters[counter.put_argument - 1].type));
}

bool ModuleSearch::signatures_agree(const NamePair& names, const CounterEvidence& counter,
                                    std::string& type) {
  if (!signature(names.get) || !signature(names.put)) return true;
  type = pointee(names.get, counter.get_argument);
  if (without_struct(type) != without_struct(put_type(names.put, counter))) return false;
  // pool_get(pool) counts in the pool what it hands out: the counter is not that of the result.
  const std::string result = signature(names.get)->result_pointee;
  return names.certainty == Certainty::sure || result.empty() ||
         without_struct(result) == without_struct(type);
}

/// A put may leave the end to others: to a list, or to a thread that frees later. Then the name of the member
/// tells that it counts references, or the get returns what it is given.
std::optional<CounterEvidence> ModuleSearch::counter_by_types(const NamePair& names) {
  const auto counter = find_counter(walked(names.get), walked(names.put), true);
  if (!counter || counter->step != 1 || !counter->place_known_in_put || counter->put_indirect)
    return std::nullopt;
  const std::string type = pointee(names.get, counter->get_argument);
  if (type.empty() || counter->offset < 0) return std::nullopt;
  const bool returns_it = without_struct(signature(names.get)->result_pointee) == without_struct(type);
  const std::string member =
      module_.member_at(type, static_cast<std::uint64_t>(counter->offset)).plain_path();
  if (!returns_it && !is_count_of_references(member)) return std::nullopt;
  return counter;
}

std::optional<ProvenPair> ModuleSearch::prove(const NamePair& names) {
  const bool sure = names.certainty == Certainty::sure;
  auto counter = find_counter(walked(names.get), walked(names.put), sure);
  if (!counter && (names.certainty == Certainty::likely || names.certainty == Certainty::copies))
    counter = counter_by_types(names);
  if (!counter) return std::nullopt;
  // What an inlined copy returns is not known; that it counts up in what it is given is.
  const bool makes_new = !candidates_[names.get].inlined && may_return_new_object(walked(names.get));
  if (names.certainty == Certainty::copies && makes_new) return std::nullopt;
  ProvenPair pair{names, *counter, ""};
  CounterSpec place;
  set_place(*counter, place);
  if (!signatures_agree(names, *counter, pair.type) || !name_bit_field(module_, pair.type, place))
    return std::nullopt;
  // That an operand of a copy means the object is only likely: both must take the same type.
  const bool inlined = candidates_[names.get].inlined || candidates_[names.put].inlined;
  if (inlined && pair.type.empty()) return std::nullopt;
  return pair;
}

std::vector<Proposal> ModuleSearch::proposals() {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates_) names.push_back(candidate.name);
  // By subject, place of the counter and step: g_rc_box counts down where g_atomic_rc_box counts up.
  using Key = std::tuple<std::vector<std::string>, std::int64_t, std::int64_t>;
  std::map<Key, std::vector<ProvenPair>> families;
  for (const NamePair& pair : pair_names(names)) {
    if (auto proven = prove(pair)) {
      families[{pair.subject, proven->counter.offset, proven->counter.step}].push_back(std::move(*proven));
    }
  }
  std::vector<Proposal> result;
  std::vector<std::vector<ProvenPair>> proven;
  for (auto& [key, pairs] : families) {
    result.push_back(propose(pairs));
    proven.push_back(std::move(pairs));
  }
  return without_inner(std::move(result), proven);
}

/// kref_get that is called by conn_get alone counts the same references: each would be told twice. By their
/// members, conn's "kref.refcount" is kref's "refcount".
std::vector<Proposal> ModuleSearch::without_inner(std::vector<Proposal> proposals,
                                                  const std::vector<std::vector<ProvenPair>>& pairs) {
  std::vector<std::string> members;
  for (const Proposal& proposal : proposals) members.push_back(member_of(proposal.family.counter));
  std::vector<Proposal> kept;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    std::set<std::string> gets;
    std::set<std::string> puts;
    for (std::size_t outer = 0; outer < proposals.size(); ++outer) {
      const bool same_type = proposals[outer].family.counter.type == proposals[i].family.counter.type;
      if (same_type || members[i].empty() || !members[outer].ends_with("." + members[i])) continue;
      for (const ProbeSpec& probe : proposals[outer].family.probes) {
        if (probe.role == Role::get || probe.role == Role::try_get) gets.insert(probe.function);
        if (probe.role == Role::put) puts.insert(probe.function);
      }
    }
    const bool inner = std::all_of(pairs[i].begin(), pairs[i].end(), [&](const ProvenPair& pair) {
      return is_used_by(pair.names.get, gets) && is_used_by(pair.names.put, puts);
    });
    if (!inner) kept.push_back(proposals[i]);
  }
  return kept;
}

std::string ModuleSearch::member_of(const CounterSpec& counter) const {
  return counter.type.empty() ? std::string()
                              : module_.member_at(counter.type, counter.offset.value_or(0)).plain_path();
}

bool ModuleSearch::is_used_by(std::size_t candidate, const std::set<std::string>& functions) const {
  const Candidate& used = candidates_[candidate];
  if (used.symbol.exported || functions.empty()) return false;
  std::set<std::string> users = holders_of_copies(module_, used.symbol.name);
  if (!used.inlined) users.merge(callers_of(module_, used.symbol));
  return !users.empty() && std::includes(functions.begin(), functions.end(), users.begin(), users.end());
}

Proposal ModuleSearch::propose(const std::vector<ProvenPair>& pairs) {
  const ProvenPair& first = pairs.front();
  Proposal proposal;
  proposal.module = module_.path();
  proposal.why = fmt::format("names match; {}", first.counter.what);
  for (const std::size_t one : {first.names.get, first.names.put}) {
    if (candidates_[one].inlined)
      proposal.why += fmt::format("; {} is inlined everywhere", candidates_[one].name);
  }
  Family& family = proposal.family;
  family.name = !first.type.empty() ? without_struct(first.type) : first.names.spelling;
  if (family.name.empty()) family.name = candidates_[first.names.get].name;
  family.description = proposal.why;
  family.modules = {module_glob(module_.path())};
  family.origin = "discover";
  family.counter = counter_spec(first);
  for (const ProvenPair& pair : pairs) {
    add_probe(family, Role::get, candidates_[pair.names.get].name,
              argument_source(pair.counter.get_argument));
    add_probe(family, Role::put, candidates_[pair.names.put].name,
              argument_source(pair.counter.put_argument, pair.counter.put_indirect));
  }
  add_conditional_gets(first, family);
  add_births(first, family);
  std::stable_sort(family.probes.begin(), family.probes.end(),
                   [](const ProbeSpec& a, const ProbeSpec& b) { return a.role < b.role; });
  return proposal;
}

void ModuleSearch::add_probe(Family& family, Role role, const std::string& function,
                             const ObjectSource& object, Success success) {
  const bool known = std::any_of(family.probes.begin(), family.probes.end(),
                                 [&](const ProbeSpec& p) { return p.function == function; });
  if (known) return;
  ProbeSpec spec;
  spec.role = role;
  spec.function = function;
  spec.object = object;
  spec.success = role == Role::try_get ? Success::nonzero : success;
  spec.origin = "discover";
  family.probes.push_back(std::move(spec));
}

CounterSpec ModuleSearch::counter_spec(const ProvenPair& pair) {
  CounterSpec spec;
  spec.type = pair.type;
  set_place(pair.counter, spec);
  name_bit_field(module_, pair.type, spec);
  return spec;
}

void ModuleSearch::add_conditional_gets(const ProvenPair& pair, Family& family) {
  const auto get_words = name_words(candidates_[pair.names.get].name);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!is_conditional_get(get_words, name_words(candidates_[i].name))) continue;
    const unsigned argument = pair.counter.get_argument;
    if (changes_counter(walked(i), argument, pair.counter)) {
      add_probe(family, Role::try_get, candidates_[i].name, argument_source(argument));
    }
  }
}

void ModuleSearch::add_births(const ProvenPair& pair, Family& family) {
  add_constructors(pair, family);
  const bool constructed = family.has_role(Role::init);           // then others that return one call those
  const auto type_words = name_words(without_struct(pair.type));  // of dget(), the subject is "d"
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const auto words = name_words(candidates_[i].name);
    const bool by_name = is_constructor(pair.names.subject, words) || is_constructor(type_words, words);
    if (by_name && add_birth_by_pointer(pair, i, family)) continue;
    if (by_name && is_birth_by_name(pair, i)) {
      add_probe(family, Role::init, candidates_[i].name, result_source());
    } else if (is_initialiser(pair.names.subject, words) && count_set(walked(i), pair.counter) == 1) {
      add_probe(family, Role::init, candidates_[i].name, argument_source(1));
    }
  }
  if (!constructed && !pair.type.empty()) add_births_by_type(pair, family);
}

/// int conn_new(struct conn **made).
bool ModuleSearch::add_birth_by_pointer(const ProvenPair& pair, std::size_t candidate, Family& family) {
  const auto& known = signature(candidate);
  if (!known || pair.type.empty()) return false;
  const auto place = handed_out(*known, [&](const Parameter& parameter) {
    return without_struct(behind_two_pointers(parameter.type)) == without_struct(pair.type);
  });
  if (!place) return false;
  add_probe(family, Role::init, candidates_[candidate].name, place->object, place->success);
  return true;
}

bool ModuleSearch::is_birth_by_name(const ProvenPair& pair, std::size_t candidate) {
  if (!may_return_new_object(walked(candidate))) return false;
  const auto& known = signature(candidate);
  const bool other_type = known && without_struct(known->result_pointee) != without_struct(pair.type);
  if (candidates_[candidate].inlined && (!known || other_type)) return false;
  return !other_type || pair.type.empty();
}

/// file_open() makes a `struct file`, whatever the words of its name are. Others that return one may have
/// called it: those only where nobody is known to make them.
void ModuleSearch::add_births_by_type(const ProvenPair& pair, Family& family) {
  std::vector<std::size_t> deeper;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].inlined || !signature(i)) continue;
    if (without_struct(signature(i)->result_pointee) != without_struct(pair.type)) continue;
    const auto depth = depth_of_birth(walked(i), pair.counter);
    if (depth && *depth != 0) deeper.push_back(i);
    if (depth && *depth == 0) add_probe(family, Role::init, candidates_[i].name, result_source());
  }
  if (family.has_role(Role::init)) return;
  for (const std::size_t i : deeper) add_probe(family, Role::init, candidates_[i].name, result_source());
}

/// Those of one class store the same count, but for the ones that copy.
void ModuleSearch::add_constructors(const ProvenPair& pair, Family& family) {
  const std::string class_name = without_struct(pair.type);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!is_constructor_of(class_name, candidates_[i].name)) continue;
    const auto born = count_set(walked(i), pair.counter);
    if (!born) continue;
    family.born = *born;
    family.born_given = true;
    add_probe(family, Role::init, candidates_[i].name, argument_source(1));
  }
}

bool wanted(const Family& family, const std::string& pattern) {
  if (pattern.empty()) return true;
  const auto fits = [&](std::string_view name) {
    return is_glob(pattern) ? glob_match(pattern, name) : name.find(pattern) != std::string_view::npos;
  };
  return fits(family.name) || std::any_of(family.probes.begin(), family.probes.end(),
                                          [&](const ProbeSpec& probe) { return fits(probe.function); });
}

/// Two modules, or two counters of one subject, can have the same name; a file of families cannot.
void make_names_unique(std::vector<Proposal>& proposals) {
  std::map<std::string, int> seen;
  for (Proposal& proposal : proposals) {
    const int number = ++seen[proposal.family.name];
    if (number > 1) proposal.family.name += fmt::format("-{}", number);
  }
}

}  // namespace

std::vector<Proposal> discover(const std::vector<std::shared_ptr<const Module>>& modules,
                               const DiscoverOptions& options) {
  std::vector<Proposal> result;
  const FunctionIndex index(modules);
  for (const auto& module : modules) {
    if (options.progress && !options.progress(module->path())) break;
    try {
      for (Proposal& proposal : ModuleSearch(*module, index, options).proposals()) {
        if (wanted(proposal.family, options.pattern)) result.push_back(std::move(proposal));
      }
    } catch (const Interrupted&) {
      break;  // what was found in the modules before is still right
    }
  }
  make_names_unique(result);
  return result;
}

}  // namespace refhist
