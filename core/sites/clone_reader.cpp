#include "sites/clone_reader.h"

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

}  // namespace refhist
