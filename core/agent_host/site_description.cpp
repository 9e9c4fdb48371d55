#include "agent_host/site_description.h"

#include <algorithm>

#include "base/text.h"

namespace refhist {

namespace {
agent::Effect effect_of(const Site& site, bool allocator) {
  switch (site.role) {
    case Role::get:
    case Role::try_get:
      return agent::Effect::get;
    case Role::put:
      return agent::Effect::put;
    case Role::alloc:
    case Role::init:
      return allocator ? agent::Effect::none : agent::Effect::birth;
    case Role::free:
      return allocator ? agent::Effect::free_block : agent::Effect::free;
    case Role::realloc:
      return agent::Effect::move_block;
    case Role::pool_destroy:
      return agent::Effect::end_pool;
    case Role::use:  // no site has it
    case Role::pool_create:
      return agent::Effect::none;
  }
  return agent::Effect::none;
}

void describe_counter(const TrackedFamily& tracked, agent::Site& described) {
  if (!tracked.counter) return;
  described.counter_offset = static_cast<std::int64_t>(tracked.counter->offset);
  described.counter_size = static_cast<std::uint8_t>(tracked.counter->size);
  described.counter_unsigned = tracked.counter->is_signed ? 0 : 1;
  const std::uint32_t shift = tracked.family.counter.shift;
  described.counter_shift = static_cast<std::uint8_t>(tracked.counter->first_bit + shift);
  described.counter_bits =
      static_cast<std::uint8_t>(tracked.counter->bits == 0 ? 0 : tracked.counter->bits - shift);
  described.counter_scale = tracked.family.counter.scale;
  described.counter_bias = tracked.family.counter.bias;
}

/// What the instruction reads and writes may be more than the counter, or its low part.
void describe_instruction(const CounterInstruction& instruction, agent::Site& described) {
  described.inlined = 1;
  described.compares = instruction.kind == CounterInstruction::Kind::compare_exchange ? 1 : 0;
  if (instruction.kind == CounterInstruction::Kind::last)
    described.last = static_cast<std::uint32_t>(instruction.constant);
  described.counter_offset -= instruction.within;
  described.counter_size = instruction.span(described.counter_size);
}

void describe_effect(const Site& site, const TrackedFamily& tracked, agent::Site& described) {
  described.function = site.address;
  described.function_size = static_cast<std::uint32_t>(site.size);
  described.family = static_cast<std::uint16_t>(site.family.index());
  described.effect = effect_of(site, tracked.family.allocator);
  described.at_return = site.watches_return() ? 1 : 0;
  described.success = static_cast<std::uint8_t>(site.success);
  described.blind = tracked.traits.blind ? 1 : 0;
  const bool no_references = site.role == Role::alloc && tracked.traits.has_init;
  described.born = no_references ? 0 : static_cast<std::int32_t>(tracked.traits.born);
}
}  // namespace

agent::Site describe_site(const Site& site, SiteId id, const TrackedFamily& tracked,
                          const AgentWatch& watch) {
  const bool from_argument = site.object.from == ObjectSource::From::argument;
  const bool pointer_later = site.object.indirect && site.watches_return();
  const bool is_object = from_argument && !pointer_later && site.role != Role::pool_destroy;
  agent::Site described{};
  described.id = id.value;
  describe_counter(tracked, described);
  describe_effect(site, tracked, described);
  described.watch = watch.flags;
  described.only = watch.only;
  described.above = watch.above;
  described.each = watch.each;
  described.object_argument = from_argument ? agent::argument_place(site.object.argument) : 0;
  described.counter_offset += site.object.adjust;
  if (site.counter) describe_instruction(*site.counter, described);
  described.indirect = site.object.indirect ? 1 : 0;
  described.pointer_at_entry = site.object.indirect && !site.watches_return() ? 1 : 0;
  described.counts_at_entry = is_object ? 1 : 0;
  described.pool_argument = agent::argument_place(site.pool_argument);
  if (site.size_argument == 0) return described;
  described.size_argument = agent::argument_place(site.size_argument);
  described.times_argument = agent::argument_place(site.times_argument);
  return described;
}

namespace {
bool is_libc(const LoadedModule& module) { return file_name(module.module->path()).starts_with("libc."); }

bool has_other_malloc(const ModuleMap& modules) {
  const std::vector<const LoadedModule*> loaded = modules.loaded();
  return std::any_of(loaded.begin(), loaded.end(), [](const LoadedModule* other) {
    const auto named = other->module->functions_named("malloc");
    return !is_libc(*other) && std::any_of(named.begin(), named.end(),
                                           [](const FunctionSymbol& function) { return function.exported; });
  });
}
}  // namespace

bool frees_known_blocks(const Site& site, const TrackedFamily& tracked, const ModuleMap& modules) {
  const agent::Effect effect = effect_of(site, tracked.family.allocator);
  const bool gives_back = effect == agent::Effect::free_block || effect == agent::Effect::move_block;
  if (!gives_back || (effect == agent::Effect::free_block && site.size_argument != 0)) return true;
  // Blocks of the C library's malloc bear their size, and operator delete is given such blocks.
  const bool known = is_libc(*modules.get(site.module)) || site.function.starts_with("operator delete");
  return known && !has_other_malloc(modules);
}

std::optional<agent::HeapCall> heap_call(const Site& site, const TrackedFamily& tracked,
                                         const ModuleMap& modules) {
  if (!tracked.family.allocator) return std::nullopt;
  if (site.role == Role::alloc && tracked.from_start && site.function.starts_with("g_slice_"))
    return agent::kGivesSlice;
  // Nothing tells the size of what `free` gives back beside the block's header.
  const bool frees = site.role == Role::free && site.size_argument == 0;
  const bool gives = site.role == Role::alloc || site.role == Role::realloc;
  if ((!frees && !gives) || !is_libc(*modules.get(site.module)) || has_other_malloc(modules))
    return std::nullopt;
  return frees ? agent::kFreesBlock : agent::kGivesBlock;
}

Address exported_by(const ModuleMap& modules, std::string_view module, std::string_view function) {
  for (const LoadedModule* loaded : modules.loaded()) {
    if (!file_name(loaded->module->path()).starts_with(std::string(module) + ".")) continue;
    for (const FunctionSymbol& symbol : loaded->module->functions_named(function))
      if (symbol.exported) return loaded->bias + symbol.address;
  }
  return 0;
}

}  // namespace refhist
