#include "analysis/tail_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace refhist {

namespace {

constexpr std::size_t kLongestWay = 6;
constexpr std::size_t kMostWays = 8;
constexpr std::size_t kMostSteps = 500;

/// Code between a call and the function that is meant: what runs there is no caller that was lost.
bool is_thunk(std::string_view name) {
  constexpr std::array<std::string_view, 5> kThunks = {"__x86_indirect_thunk", "__llvm_retpoline", "_ZTh",
                                                       "_ZTv", "_ZTc"};
  return std::any_of(kThunks.begin(), kThunks.end(), [&](std::string_view t) { return name.starts_with(t); });
}

std::string plain_name(const FunctionSymbol& symbol) {
  return demangle(std::string(clone_base(symbol.name)));
}

/// An alias or a clone counts as the function itself; so do the kinds of one constructor.
bool same_function(const Module* module, const FunctionSymbol& symbol, const Module* other_module,
                   const FunctionSymbol& other) {
  if (module == other_module && symbol.address == other.address) return true;
  return plain_name(symbol) == plain_name(other);
}

/// Its jumps through pointers lead to functions of its own: what others gave it, it calls, and goes on (but
/// for _pthread_cleanup_pop, which nothing calls any more).
bool is_c_library(const Module& module) {
  const std::string name = file_name(module.path());
  return name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("libc.musl");
}

bool is_linker(const Module& module) { return file_name(module.path()).starts_with("ld-"); }

}  // namespace

struct TailCalls::Search {
  Function goal;
  LostFrames& found;
  std::size_t steps = 0;
};

std::string LostFrames::text() const {
  if (ways.empty())
    return fmt::format("frames may be lost to a tail call: called {}, which may have jumped to {}", called,
                       runs);
  if (ways.size() == 1 && complete) {
    return fmt::format("frames lost to a tail call: called {}, which jumped to {}",
                       join(ways.front(), ", which jumped to "), runs);
  }
  std::vector<std::string> candidates;
  for (const std::vector<std::string>& way : ways) candidates.push_back(join(way, " > "));
  return fmt::format("frames lost to a tail call: called {}, which led to {} (candidates: {}{})", called,
                     runs, join(candidates, "; "), complete ? "" : "; or through a pointer");
}

void TailCalls::remember(const StackFrame& inner, const StackFrame& outer, LostFrames lost) {
  known_[key(inner, outer)] = std::make_shared<const LostFrames>(std::move(lost));
}

std::shared_ptr<const LostFrames> TailCalls::between(const StackFrame& inner, const StackFrame& outer) {
  const bool known_code = inner.module.valid() && outer.module.valid();
  if (!known_code || outer.exact) return nullptr;  // interrupted by a signal: nothing was called there
  const auto [entry, is_new] = known_.try_emplace(key(inner, outer));
  if (!is_new) return entry->second;
  if (const auto found = look(inner, outer)) entry->second = std::make_shared<const LostFrames>(*found);
  return entry->second;
}

std::optional<StackFrame> TailCalls::only_jump(const StackFrame& inner, const StackFrame& outer) {
  const auto lost = between(inner, outer);
  const bool by_name = lost && lost->complete && lost->ways.size() == 1 && lost->ways.front().size() == 1;
  if (!lost || (!by_name && (lost->complete || !lost->ways.empty()))) return std::nullopt;
  const std::vector<Function> called = called_from(outer);
  if (by_name) {
    for (const Function& function : called) {
      auto frame = jump_to(function,
                           [&](const Function& entered) { return plain_name(entered.symbol) == lost->runs; });
      if (frame) return frame;
    }
    return std::nullopt;
  }
  const auto goal = running_at(inner);
  return called.size() == 1 && goal ? jump_through_pointer(called.front(), *goal) : std::nullopt;
}

std::optional<StackFrame> TailCalls::jump_into(const StackFrame& left, const Module& module) {
  const auto from = running_at(left);
  if (!from) return std::nullopt;
  std::set<Address> entering;
  const auto is_there = [&](const Function& function) { return function.module == &module; };
  for (const Address target : jumps(*from).targets) {
    const std::vector<Function> entered = graph_.entered_at(*from->module, target);
    if (std::any_of(entered.begin(), entered.end(), is_there)) entering.insert(target);
  }
  const auto jump = entering.size() == 1 ? jump_to(*from, is_there) : std::nullopt;
  // The same file may have been loaded elsewhere before.
  return jump ? std::optional(StackFrame{left.module, jump->pc, false}) : std::nullopt;
}

std::optional<StackFrame> TailCalls::jump_to(const Function& called,
                                             const std::function<bool(const Function&)>& goal) {
  for (const Address jump : jumps(called).targets) {
    const std::vector<Function> entered = graph_.entered_at(*called.module, jump);
    const bool there = std::any_of(entered.begin(), entered.end(), goal);
    const auto behind = there ? behind_jump_to(*called.module, called.symbol, jump) : std::nullopt;
    const ModuleId id = behind ? id_of(*called.module) : ModuleId();
    if (id.valid()) return StackFrame{id, *behind, false};
  }
  return std::nullopt;
}

std::optional<StackFrame> TailCalls::jump_through_pointer(const Function& called, const Function& goal) {
  const JumpsOut& out = jumps(called);
  if (out.unread || out.through_pointer.empty()) return std::nullopt;
  for (const Address target : out.targets) {
    LostFrames further;
    Search search{goal, further};
    std::vector<std::string> way;
    for (const Function& next : graph_.entered_at(*called.module, target)) follow(search, next, way);
    if (!further.complete || !further.ways.empty()) return std::nullopt;
  }
  const ModuleId id = id_of(*called.module);
  return id.valid() ? std::optional(StackFrame{id, out.through_pointer.back(), false}) : std::nullopt;
}

std::vector<TailCalls::Function> TailCalls::called_from(const StackFrame& outer) {
  const Module& caller = modules_.get(outer.module)->module->code();
  const auto calling = caller.function_at(outer.pc - 1);
  const auto target = calling ? graph_.call_before(caller, *calling, outer.pc) : std::nullopt;
  return target ? graph_.entered_at(caller, *target) : std::vector<Function>();
}

ModuleId TailCalls::id_of(const Module& module) const {
  for (const LoadedModule* loaded : modules_.all()) {
    if (&loaded->module->code() == &module) return loaded->id;
  }
  return {};
}

std::optional<TailCalls::Function> TailCalls::running_at(const StackFrame& frame) const {
  const LoadedModule* loaded = modules_.get(frame.module);
  if (loaded == nullptr) return std::nullopt;
  const Module& module = loaded->module->code();
  const auto symbol = module.function_at(frame.exact ? frame.pc : frame.pc - 1);
  return symbol ? std::optional(Function{&module, *symbol}) : std::nullopt;
}

std::optional<LostFrames> TailCalls::look(const StackFrame& inner, const StackFrame& outer) {
  const auto running = running_at(inner);
  if (!running) return std::nullopt;
  const std::vector<Function> called = called_from(outer);
  const bool itself = std::any_of(called.begin(), called.end(), [&](const Function& function) {
    return same_function(function.module, function.symbol, running->module, running->symbol);
  });
  // The linker works in the name of a function that is called through the PLT for the first time.
  if (called.empty() || itself || is_thunk(called.front().symbol.name) || is_linker(*running->module))
    return std::nullopt;
  LostFrames lost{plain_name(called.front().symbol), plain_name(running->symbol), {}, true};
  Search search{*running, lost};
  for (const Function& function : called) {
    std::vector<std::string> way;
    follow(search, function, way);
  }
  // No jump can have led there: then it is the call frame information that is wrong.
  if (lost.ways.empty() && lost.complete) return std::nullopt;
  return lost;
}

void TailCalls::follow(Search& search, const Function& at, std::vector<std::string>& way) {
  if (is_c_library(*at.module) && at.module != search.goal.module) return;
  const std::string name = plain_name(at.symbol);
  const bool goal = same_function(at.module, at.symbol, search.goal.module, search.goal.symbol);
  if (goal && !way.empty()) {
    if (std::find(search.found.ways.begin(), search.found.ways.end(), way) == search.found.ways.end())
      search.found.ways.push_back(way);
    return;
  }
  const bool again = std::find(way.begin(), way.end(), name) != way.end();
  const bool too_much =
      way.size() >= kLongestWay || search.found.ways.size() >= kMostWays || ++search.steps > kMostSteps;
  if (too_much) search.found.complete = false;
  if (again || too_much) return;
  way.push_back(name);
  follow_jumps(search, at, way);
  way.pop_back();
}

void TailCalls::follow_jumps(Search& search, const Function& at, std::vector<std::string>& way) {
  const JumpsOut& out = jumps(at);
  if (out.indirect()) search.found.complete = false;
  for (const Address target : out.targets) {
    const auto symbol = at.module->function_at(target);
    const bool own_part = symbol && plain_name(*symbol) == way.back();
    if (own_part) {
      const bool to_part =
          symbol->address != at.symbol.address && clone_kind(at.symbol.name) == CloneKind::whole;
      if (to_part) follow_jumps(search, {at.module, *symbol}, way);
      continue;
    }
    const std::vector<Function> entered = graph_.entered_at(*at.module, target);
    if (entered.empty()) search.found.complete = false;
    for (const Function& next : entered) follow(search, next, way);
  }
}

const JumpsOut& TailCalls::jumps(const Function& function) {
  const auto [entry, is_new] = jumps_.try_emplace({function.module, function.symbol.address});
  if (is_new) entry->second = jumps_out_of(*function.module, function.symbol);
  return entry->second;
}

}  // namespace refhist
