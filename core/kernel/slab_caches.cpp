#include "kernel/slab_caches.h"

#include <fmt/core.h>

#include <array>
#include <cstring>

#include "base/error.h"

namespace refhist {

namespace {
constexpr std::size_t kMost = 4096;  // caches: more are a list that is read wrong
constexpr std::size_t kLongestName = 64;

struct Layout {
  Address list = 0;
  std::uint64_t next = 0, name = 0, object_size = 0;
};

Layout layout_of(const Module& module, Address bias) {
  constexpr const char* kCache = "struct kmem_cache";
  const auto list = module.data_symbol("slab_caches");
  const auto next = module.member(kCache, "list.next");
  const auto name = module.member(kCache, "name");
  const auto size = module.member(kCache, "object_size");
  if (!list || !next || !name || !size)
    fail("the vmlinux does not say where the slab caches are: it needs debug information");
  return {*list + bias, next->offset, name->offset, size->offset};
}

std::string read_name(DebuggerPort& port, Address address) {
  std::array<char, kLongestName> text{};
  // The end of the text may be the end of what can be read.
  if (!port.read_memory(address, text.data(), text.size() - 1)) {
    const std::size_t rest = kPage - address % kPage;
    if (rest >= text.size() || !port.read_memory(address, text.data(), rest)) return {};
  }
  return text.data();
}

ProbeSpec probe(Role role, const char* function, ObjectSource object, Address cache) {
  ProbeSpec probe;
  probe.role = role;
  probe.function = function;
  probe.object = object;
  probe.only = {1, cache};
  probe.origin = "the guest's slab caches";
  return probe;
}
}  // namespace

std::vector<SlabCache> read_slab_caches(DebuggerPort& port, const Module& module, Address bias) {
  const Layout layout = layout_of(module, bias);
  std::vector<SlabCache> caches;
  Address entry = 0;
  const auto next = [&](Address from) {
    if (!port.read_memory(from, &entry, sizeof entry)) fail("the list of slab caches cannot be read");
  };
  for (next(layout.list); entry != layout.list && entry != 0 && caches.size() < kMost; next(entry)) {
    SlabCache cache;
    cache.address = entry - layout.next;
    Address name = 0;
    if (!port.read_memory(cache.address + layout.name, &name, sizeof name) ||
        !port.read_memory(cache.address + layout.object_size, &cache.object_size, sizeof cache.object_size))
      fail("the list of slab caches cannot be read");
    cache.name = read_name(port, name);
    caches.push_back(std::move(cache));
  }
  if (entry != layout.list) fail("the guest has no slab caches yet: let it go on until the kernel runs");
  return caches;
}

Family slab_family(const SlabCache& cache) {
  Family family;
  family.name = "slab:" + cache.name;
  family.description = fmt::format("objects of {} bytes of the slab cache {}", cache.object_size, cache.name);
  family.origin = "the guest's slab caches";
  const ObjectSource result{ObjectSource::From::result};
  for (const char* function : {"kmem_cache_alloc", "kmem_cache_alloc_lru", "kmem_cache_alloc_node"})
    family.probes.push_back(probe(Role::init, function, result, cache.address));
  family.probes.push_back(
      probe(Role::put, "kmem_cache_free", {ObjectSource::From::argument, 2}, cache.address));
  return family;
}

}  // namespace refhist
