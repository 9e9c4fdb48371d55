#include "discover/refcount_evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/error.h"
#include "x86/known_functions.h"

namespace refhist {
namespace {

/// A counter in a bit field of k bits is lowered by adding 2^k - 1 under a mask.
std::int64_t plain_step(const CounterChange& change) {
  const auto up = static_cast<std::uint64_t>(change.delta) + 1;
  return change.delta >= 255 && std::has_single_bit(up) ? -1 : change.delta;
}

/// Bytes that hold the counter: those of the bit field, where the put shows how wide it is.
std::uint8_t counter_size(const CounterChange& up, const CounterChange& down) {
  if (plain_step(down) == down.delta) return up.size;
  const int bits = std::bit_width(static_cast<std::uint64_t>(down.delta));
  return static_cast<std::uint8_t>(bits <= 8 ? 1 : bits <= 16 ? 2 : up.size);
}

bool is_step(std::int64_t delta) {
  const auto size = static_cast<std::uint64_t>(std::llabs(delta));
  return size <= 65536 && std::has_single_bit(size);
}

/// Does the put hand the object to something that frees, or to a function pointer (a destructor)? As a
/// destructor counts also what is given the counter itself: kref_put(&object->kref, release).
bool gives_object_back(const WalkedFunction& put, const CounterChange& down) {
  const unsigned argument = put.values.root_argument(down.cell);
  return std::any_of(put.facts.calls.begin(), put.facts.calls.end(), [&](const CallFact& call) {
    if (call.used_after || put.values.root_argument(call.first) != argument) return false;
    if (call.indirect && call.first == down.cell) return true;
    if (put.values.path(call.first).size() != 1 || call.first.offset > 0) return false;
    return call.indirect || gives_back(call.callee);
  });
}

/// Offset of the cell from the argument that it belongs to; nothing when it is reached through another
/// pointer. Such a counter is mostly somebody else's: a pool's, a loop's.
std::optional<std::int64_t> offset_in_object(const WalkedFunction& function, const Value& cell) {
  const std::vector<std::int64_t> path = function.values.path(cell);
  if (path.size() != 1) return std::nullopt;
  return path[0];
}

/// The same of a put that is handed where the object's pointer is: conn_unref(&c->peer).
std::optional<std::int64_t> offset_behind_pointer(const WalkedFunction& function, const Value& cell) {
  const std::vector<std::int64_t> path = function.values.path(cell);
  if (path.size() != 2 || path[0] != 0) return std::nullopt;
  return path[1];
}

std::string spell(const CounterEvidence& counter) {
  if (counter.offset == 0) return fmt::format("[arg{}]", counter.get_argument);
  return fmt::format("[arg{}{:+}]", counter.get_argument, counter.offset);
}

std::string describe(const CounterEvidence& counter) {
  const bool up = counter.step > 0;
  return fmt::format("get {} {} {} {}, put {} it{}", up ? "adds" : "subtracts", std::llabs(counter.step),
                     up ? "to" : "from", spell(counter), up ? "subtracts" : "adds",
                     counter.place_known_in_put ? "" : " at a computed address");
}

struct Match {
  CounterEvidence evidence;
  unsigned depth = 0;

  /// Smaller is better: known in both, near the surface.
  [[nodiscard]] auto rank() const { return std::make_pair(!evidence.place_known_in_put, depth); }
};

std::optional<Match> match(const WalkedFunction& get, const CounterChange& up, const WalkedFunction& put,
                           const CounterChange& down, bool strong) {
  const std::int64_t step = plain_step(up);
  if (plain_step(down) != -step || !is_step(step) || !up.cell.exact) return std::nullopt;
  if (!strong && std::llabs(step) != 1) return std::nullopt;  // a stack or a buffer that is walked along
  const auto offset = offset_in_object(get, up.cell);
  auto other = offset_in_object(put, down.cell);
  const bool indirect = !other && strong;
  if (indirect) other = offset_behind_pointer(put, down.cell);
  if (!offset || !other) return std::nullopt;
  if (down.cell.exact ? *other != *offset || down.size != up.size : !strong) return std::nullopt;
  if ((!strong || step < 0) && !gives_object_back(put, down)) return std::nullopt;
  CounterEvidence evidence;
  evidence.get_argument = get.values.root_argument(up.cell);
  evidence.put_argument = put.values.root_argument(down.cell);
  evidence.put_indirect = indirect;
  evidence.offset = *offset;
  evidence.step = step;
  evidence.size = counter_size(up, down);
  evidence.place_known_in_put = down.cell.exact;
  evidence.what = describe(evidence);
  return Match{evidence, up.depth + down.depth};
}

}  // namespace

std::vector<CounterEvidence> find_counters(const WalkedFunction& get, const WalkedFunction& put,
                                           bool strong) {
  std::vector<Match> matches;
  for (const CounterChange& up : get.facts.changes) {
    for (const CounterChange& down : put.facts.changes) {
      if (auto candidate = match(get, up, put, down, strong)) matches.push_back(std::move(*candidate));
    }
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& one, const Match& other) { return one.rank() < other.rank(); });
  std::vector<CounterEvidence> found;
  for (Match& candidate : matches) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const CounterEvidence& counter) {
      return counter.offset == candidate.evidence.offset;
    });
    if (!known) found.push_back(std::move(candidate.evidence));
  }
  return found;
}

std::optional<CounterEvidence> find_counter(const WalkedFunction& get, const WalkedFunction& put,
                                            bool strong) {
  std::vector<CounterEvidence> found = find_counters(get, put, strong);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

void set_place(const CounterEvidence& counter, CounterSpec& spec) {
  spec.offset = static_cast<std::uint64_t>(counter.offset);
  spec.size = counter.size;
  const auto step = static_cast<std::uint64_t>(std::llabs(counter.step));
  spec.shift = static_cast<std::uint32_t>(std::countr_zero(step));
  spec.scale = counter.step < 0 ? -1 : 1;
}

bool name_bit_field(const Module& module, const std::string& type, CounterSpec& spec) {
  if (type.empty() || !spec.offset || static_cast<std::int64_t>(*spec.offset) < 0) return true;
  std::string path = module.bit_field_at(type, *spec.offset, spec.shift);
  try {
    if (path.empty()) {
      const std::string whole = module.member_at(type, *spec.offset).plain_path();
      const auto place = whole.empty() ? std::nullopt : module.member(type, whole);
      return !place || place->bits == 0;
    }
    static_cast<void>(module.member(type, path));
  } catch (const Error&) {
    return false;
  }
  spec.type = type;
  spec.path = std::move(path);
  spec.offset.reset();
  spec.size = CounterSpec().size;
  spec.shift = 0;
  return true;
}

bool changes_counter(const WalkedFunction& function, unsigned argument, const CounterEvidence& counter) {
  return std::any_of(function.facts.changes.begin(), function.facts.changes.end(),
                     [&](const CounterChange& c) {
                       return plain_step(c) == counter.step && c.cell.exact &&
                              function.values.root_argument(c.cell) == argument &&
                              offset_in_object(function, c.cell) == counter.offset;
                     });
}

std::optional<std::int64_t> count_set(const WalkedFunction& function, const CounterEvidence& counter) {
  std::optional<std::int64_t> set;
  for (const ConstantStore& store : function.facts.stores) {
    const bool ours = (store.value == 0 || store.value == 1) &&
                      function.values.root_argument(store.cell) == 1 && store.size >= counter.size &&
                      offset_in_object(function, store.cell) == counter.offset;
    if (ours) set = std::max(set.value_or(0), store.value);
  }
  return set;
}

std::optional<unsigned> depth_of_birth(const WalkedFunction& function, const CounterEvidence& counter) {
  std::optional<unsigned> deepest;
  for (const Value& result : function.facts.results) {
    if (function.values.is_constant(result)) continue;
    const bool fresh = result.known() && function.values.root_argument(result) == 0 &&
                       function.values.path(result).size() == 1;
    std::optional<unsigned> depth;
    for (const ConstantStore& store : function.facts.stores) {
      const bool counts = store.value == 1 && store.cell.exact && store.size >= counter.size &&
                          store.cell.place == result.place &&
                          store.cell.offset - result.offset == counter.offset;
      if (counts) depth = std::min(depth.value_or(store.depth), store.depth);
    }
    if (!fresh || !depth) return std::nullopt;
    deepest = std::max(deepest.value_or(0), *depth);
  }
  return deepest;
}

bool may_return_new_object(const WalkedFunction& function) {
  const auto& results = function.facts.results;
  if (results.empty()) return true;
  return std::any_of(results.begin(), results.end(), [&](const Value& result) {
    if (!result.known()) return true;
    const bool argument =
        function.values.root_argument(result) != 0 && function.values.path(result).size() == 1;
    return !argument && !function.values.is_constant(result);
  });
}

}  // namespace refhist
