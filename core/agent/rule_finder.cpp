// The lists and rows may be written again while they are looked at, so every word is read once, every place
// is checked against the size of its area, and in the end the version tells whether what was read may be
// believed.
#include "agent/rule_finder.h"

namespace refhist::agent {

namespace {

template <class T>
T read(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

/// The module that covers the address; nullptr when none does.
const SharedModule* module_at(const WalkerShared* shared, uint64_t version, uint64_t address) {
  const uint64_t list = version & 1;
  const SharedModule* modules =
      at_offset<SharedModule>(shared, shared->lists_at) + list * shared->list_capacity;
  uint32_t low = 0;
  uint32_t high = read(shared->list_counts[list]);
  if (high > shared->list_capacity) return nullptr;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (read(modules[middle].end) > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low == shared->list_capacity || low == read(shared->list_counts[list])) return nullptr;
  return read(modules[low].begin) <= address ? &modules[low] : nullptr;
}

bool inside(const WalkerShared* shared, uint64_t begin, uint64_t words) {
  return begin <= shared->row_words && words <= shared->row_words - begin;
}

FrameRule rule_in(const WalkerShared* shared, const SharedModule& module, uint64_t address) {
  const uint64_t offset = address - read(module.begin);
  const uint64_t rows_at = read(module.rows);
  const uint32_t count = read(module.row_count);
  const uint64_t blocks_at = read(module.blocks);
  const uint32_t block_count = read(module.block_count);
  const uint64_t block = offset >> kBlockShift;
  if (!inside(shared, rows_at, count) || !inside(shared, blocks_at, (uint64_t{block_count} + 1) / 2))
    return {};
  if (block >= block_count) return {};
  const auto* words = at_offset<uint64_t>(shared, shared->rows_at);
  const auto* rows = reinterpret_cast<const RuleRow*>(words + rows_at);
  uint32_t row = read(reinterpret_cast<const uint32_t*>(words + blocks_at)[block]);
  if (row >= count || read(rows[row].begin) > offset) return {};
  while (row + 1 < count && read(rows[row + 1].begin) <= offset) ++row;
  return {read(rows[row].rule.bits)};
}

}  // namespace

const ReadyRule* RuleFinder::find_slowly(const WalkerShared* shared, uint64_t key) {
  // A return address belongs to the call before it, which may be the last instruction of its function.
  const uint64_t address = (key & kExact) != 0 ? key & ~kExact : key - 1;
  const SharedModule* module = version_ == 0 ? nullptr : module_at(shared, version_, address);
  const FrameRule rule = module == nullptr ? FrameRule() : rule_in(shared, *module, address);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (read(shared->version) != version_) return nullptr;
  Cached& cached = cache_[place(key)];
  cached = {key, ready(rule)};
  return &cached.rule;
}

bool RuleFinder::restart(const WalkerShared* shared) {
  version_ = __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE);
  for (Cached& cached : cache_) {
    cached.key = 0;
    asm volatile("");  // else the compiler makes this a call of memset, which is not here
  }
  return false;
}

}  // namespace refhist::agent
