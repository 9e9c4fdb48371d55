#include "sites/nameless_copies.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sites/same_code.h"
#include "sites/thunk.h"

namespace refhist {

namespace {

struct Holder {
  FunctionSymbol function;
  std::map<Address, const Site*> sites;  // by their instructions
};

auto what_it_does(const CounterInstruction& instruction) {
  return std::tuple(instruction.kind, instruction.negative, instruction.size, instruction.constant,
                    instruction.told_step, instruction.opaque,
                    instruction.source == CounterInstruction::kNoRegister);
}

bool does_the_same(const CounterInstruction& one, const CounterInstruction& other) {
  return what_it_does(one) == what_it_does(other);
}

auto what_and_where(const CounterInstruction& instruction) {
  return std::pair(what_it_does(instruction), instruction.displacement);
}

Site at_instruction(const Site& like, const CounterInstruction& instruction, const LoadedModule& module) {
  Site site = like;
  site.counter = instruction;
  site.counter->within = like.counter->within;
  site.file_address = instruction.address;
  site.address = instruction.address + module.bias;
  site.size = instruction.length;
  site.copy = {instruction.address, instruction.address + instruction.length};
  return site;
}

class NamelessCopies {
 public:
  NamelessCopies(const LoadedModule& module, const std::vector<Site>& known, const Family& family,
                 MemoryChanges& changes)
      : loaded_(module), module_(*module.module), family_(family), changes_(changes) {
    for (const Site& site : known) {
      if (!site.inlined || !site.counter) continue;
      const auto function = module_.function_at(site.file_address);
      if (!function || function->size == 0) continue;
      Holder& holder = holders_[function->address];
      holder.function = *function;
      holder.sites.emplace(site.file_address, &site);
      likes_.try_emplace(what_and_where(*site.counter), &site);
    }
  }

  std::vector<Site> find() {
    for (const auto& [address, holder] : holders_) add_merged(holder);
    if (holders_.empty()) return std::move(found_);
    for (const FunctionSymbol& thunk : functions_from(module_, "_ZT")) add_thunk(thunk);
    add_twins();
    return std::move(found_);
  }

 private:
  // Whether it is of this family is not known: it counts for objects alone that are.
  void add_merged(const Holder& holder) {
    for (const MemoryChange& change : changes_.around(holder.function.range())) {
      const CounterInstruction& instruction = change.instruction;
      if (change.zero_side != 0 || holder.sites.contains(instruction.address)) continue;
      const auto like = likes_.find(what_and_where(instruction));
      const bool counts = instruction.step() != 0 || instruction.told_step.value_or(0) != 0;
      if (like == likes_.end() || !counts) continue;
      const std::vector<SourceFrame> frames = module_.source_frames(instruction.address);
      if (frames.empty() || frames.front().line != 0) continue;
      Site site = at_instruction(*like->second, instruction, loaded_);
      site.known_objects_only = true;
      site.inlined_into = fmt::format("{} (several copies merged by the compiler)", frames.front().function);
      found_.push_back(std::move(site));
    }
  }

  void add_twins() {
    std::multimap<std::uint64_t, const Holder*> by_size;
    for (const auto& [address, holder] : holders_) by_size.emplace(holder.function.size, &holder);
    std::set<Address> known;
    for (const FunctionSymbol& function : module_.functions()) {
      const auto [first, last] = by_size.equal_range(function.size);
      if (first == last || holders_.contains(function.address)) continue;
      const auto of = std::find_if(first, last, [&](const auto& entry) {
        return same_code(module_, function, entry.second->function);
      });
      const bool twin = of != last && !family_.is_probed(function.name, demangle(function.name)) &&
                        !module_.signature(function);
      if (twin && known.insert(function.address).second) add_twin(function, *of->second);
    }
  }

  /// It may be of a type that only looks like the family's: as of add_merged().
  void add_twin(const FunctionSymbol& twin, const Holder& holder) {
    for (const auto& [address, like] : holder.sites) {
      CounterInstruction instruction = *like->counter;
      instruction.address = address - holder.function.address + twin.address;
      Site site = at_instruction(*like, instruction, loaded_);
      site.known_objects_only = true;
      site.inlined_into = demangle(twin.name);
      found_.push_back(std::move(site));
    }
  }

  void add_thunk(const FunctionSymbol& thunk) {
    const auto of = std::find_if(holders_.begin(), holders_.end(), [&](const auto& holder) {
      return is_thunk_of(thunk.name, holder.second.function.name);
    });
    if (of == holders_.end() || thunk.size == 0) return;
    const auto kind = read_thunk(module_, thunk);
    if (!kind || kind->goes_on) return;
    const Holder& holder = of->second;
    const std::vector<MemoryChange> body = changes_.around(holder.function.range());
    const std::vector<MemoryChange> copy = changes_.around(thunk.range());
    const bool same = std::equal(body.begin(), body.end(), copy.begin(), copy.end(),
                                 [](const MemoryChange& one, const MemoryChange& other) {
                                   return (one.zero_side != 0) == (other.zero_side != 0) &&
                                          does_the_same(one.instruction, other.instruction);
                                 });
    if (!same) return add_unlike(thunk, holder, body, copy);
    for (std::size_t i = 0; i < body.size(); ++i) {
      const auto like = holder.sites.find(body[i].instruction.address);
      if (like == holder.sites.end()) continue;
      Site site = at_instruction(*like->second, copy[i].instruction, loaded_);
      site.inlined_into = demangle(thunk.name);
      found_.push_back(std::move(site));
    }
  }

  // The compiler has made something else of it: what counts there beside what the function does itself?
  void add_unlike(const FunctionSymbol& thunk, const Holder& holder, const std::vector<MemoryChange>& body,
                  const std::vector<MemoryChange>& copy) {
    const auto counts = [](const MemoryChange& change) { return change.instruction.step() != 0; };
    const auto own = std::count_if(body.begin(), body.end(), [&](const MemoryChange& change) {
      return counts(change) && !holder.sites.contains(change.instruction.address);
    });
    if (std::count_if(copy.begin(), copy.end(), counts) <= own) return;
    Site site = *holder.sites.begin()->second;
    site.counter.reset();
    site.file_address = thunk.address;
    site.address = thunk.address + loaded_.bias;
    site.inlined_into = demangle(thunk.name);
    site.why_not = "a thunk with a body of its own, which has no debug information";
    found_.push_back(std::move(site));
  }

  const LoadedModule& loaded_;
  const Module& module_;
  const Family& family_;
  MemoryChanges& changes_;
  std::map<Address, Holder> holders_;
  using WhatAndWhere = decltype(what_and_where(std::declval<CounterInstruction>()));
  std::map<WhatAndWhere, const Site*> likes_;  // the first of those that are alike
  std::vector<Site> found_;
};

}  // namespace

std::vector<Site> nameless_copies(const LoadedModule& module, const std::vector<Site>& known,
                                  const Family& family, MemoryChanges& changes) {
  return NamelessCopies(module, known, family, changes).find();
}

}  // namespace refhist
