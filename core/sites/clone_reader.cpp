#include "sites/clone_reader.h"

#include <algorithm>

#include "x86/code_walker.h"
#include "x86/function_index.h"

namespace refhist {

std::optional<unsigned> object_argument_of_clone(const std::shared_ptr<const Module>& module, Address address,
                                                 const MemberPlace& counter, const CounterSpec& spec,
                                                 int step) {
  const FunctionIndex index({module});
  ValueTable values;
  const FunctionFacts facts = CodeWalker(index).walk(CodePlace{module.get(), address}, values);
  const std::int64_t wanted = std::int64_t{step} * spec.scale * (std::int64_t{1} << spec.shift);
  const std::vector<std::int64_t> place{static_cast<std::int64_t>(counter.offset)};
  for (const CounterChange& change : facts.changes) {
    const unsigned argument = values.root_argument(change.cell);
    if (argument == 0 || change.delta != wanted || !change.cell.exact) continue;
    if (change.size == counter.size && values.path(change.cell) == place) return argument;
  }
  return std::nullopt;
}

namespace {
/// Where what has been given its count in this function came from.
std::vector<PlaceId> counted_objects(const FunctionFacts& facts, const ValueTable& values,
                                     const MemberPlace& counter) {
  const std::vector<std::int64_t> place{static_cast<std::int64_t>(counter.offset)};
  std::vector<PlaceId> objects;
  const auto add = [&](const Value& cell, std::uint8_t size) {
    const bool counts = cell.known() && cell.exact && size == counter.size && values.path(cell) == place;
    if (counts && !values.is_stack(cell) && !values.is_constant(cell))
      objects.push_back(values.root(cell).place);
  };
  for (const ConstantStore& store : facts.stores) add(store.cell, store.size);
  for (const CounterChange& change : facts.changes) add(change.cell, change.size);
  return objects;
}
}  // namespace

MakerResult maker_result(const std::shared_ptr<const Module>& module, Address address,
                         const std::optional<MemberPlace>& counter) {
  const FunctionIndex index({module});
  ValueTable values;
  const FunctionFacts facts = CodeWalker(index).walk(CodePlace{module.get(), address}, values);
  const std::vector<PlaceId> objects =
      counter ? counted_objects(facts, values, *counter) : std::vector<PlaceId>();
  const auto any_result = [&](auto&& is) {
    return std::any_of(facts.results.begin(), facts.results.end(), is);
  };
  const auto may_be = [&](const Value& result) {
    if (!objects.empty()) return std::find(objects.begin(), objects.end(), result.place) != objects.end();
    return result.known() && !values.is_constant(result);
  };
  if (facts.results.empty() || any_result(may_be)) return MakerResult::object;
  const bool told = !objects.empty() && !any_result([](const Value& result) { return !result.known(); });
  return told ? MakerResult::lost : MakerResult::unclear;
}

}  // namespace refhist
