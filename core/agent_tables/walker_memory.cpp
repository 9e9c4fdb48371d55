#include "agent_tables/walker_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <set>
#include <type_traits>

namespace refhist {

namespace {

using agent::WalkerShared;

constexpr std::uint32_t kFirstLevel = 10;
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

std::uint64_t pages(std::uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

/// The index has four places or more for each node, so that nearly always the first one is right.
std::uint32_t last_level(const WalkerSizes& sizes) {
  return std::max(kFirstLevel, static_cast<std::uint32_t>(std::bit_width(std::bit_ceil(sizes.nodes)) + 1));
}

template <class T>
void store_relaxed(T& place, T value) {
  __atomic_store_n(&place, value, __ATOMIC_RELAXED);
}

}  // namespace

WalkerMemory::Places::Places(const WalkerSizes& sizes)
    : lists(pages(sizeof(WalkerShared))),
      rows(lists + pages(2 * sizeof(agent::SharedModule) * sizes.modules)),
      nodes(rows + pages(sizes.row_bytes)),
      index(nodes + pages(sizeof(agent::StackNode) * sizes.nodes)),
      end(index + pages(sizeof(std::uint32_t) << (last_level(sizes) + 1))) {}

std::size_t WalkerMemory::bytes(const WalkerSizes& sizes) { return Places(sizes).end; }

WalkerMemory::WalkerMemory(void* memory, const WalkerSizes& sizes)
    : shared_(new (memory) WalkerShared), sizes_(sizes), places_(sizes) {
  for_each_place([](auto& place, auto value) { place = static_cast<std::decay_t<decltype(place)>>(value); });
  shared_->level = kFirstLevel;
  shared_->node_count = agent::kRoots;
  free_[0] = sizes.row_bytes / sizeof(std::uint64_t);
}

/// Calls `use(place, value)` with each word that only this side writes.
template <class Use>
void WalkerMemory::for_each_place(Use&& use) {
  use(shared_->magic, WalkerShared::kMagic);
  use(shared_->size, places_.end);
  use(shared_->lists_at, places_.lists);
  use(shared_->rows_at, places_.rows);
  use(shared_->nodes_at, places_.nodes);
  use(shared_->index_at, places_.index);
  use(shared_->row_words, sizes_.row_bytes / sizeof(std::uint64_t));
  use(shared_->list_capacity, sizes_.modules);
  use(shared_->node_capacity, sizes_.nodes);
  use(shared_->first_level, kFirstLevel);
  use(shared_->last_level, last_level(sizes_));
  use(shared_->version, version_);
  use(shared_->list_counts[0], counts_[0]);
  use(shared_->list_counts[1], counts_[1]);
}

std::uint64_t WalkerMemory::put_right() {
  const std::unique_lock lock(publishing_, std::try_to_lock);
  if (!lock) return 0;  // there is another look
  std::uint64_t words = 0;
  for_each_place([&](auto& place, auto known) {
    const auto value = static_cast<std::decay_t<decltype(place)>>(known);
    if (__atomic_load_n(&place, __ATOMIC_RELAXED) == value) return;
    __atomic_store_n(&place, value, __ATOMIC_RELEASE);
    ++words;
  });
  return words;
}

/// What the list before the last one needed is free: whoever still looks at it sees that the version has
/// moved on.
std::size_t WalkerMemory::publish(const std::vector<Placed>& modules) {
  const std::lock_guard lock(publishing_);
  const std::uint64_t version = version_ + 1;
  const std::uint64_t list = version & 1;
  auto* out = agent::at_offset<agent::SharedModule>(shared_, places_.lists) + list * sizes_.modules;
  std::vector<Placed> sorted = modules;
  std::sort(sorted.begin(), sorted.end(),
            [](const Placed& a, const Placed& b) { return a.bias + a.cfi->base() < b.bias + b.cfi->base(); });
  std::uint32_t count = 0;
  for (const Placed& placed : sorted) {
    const Stored* stored = count < sizes_.modules ? store(placed.cfi) : nullptr;
    if (stored == nullptr) continue;
    agent::SharedModule& module = out[count++];
    const Address begin = placed.bias + placed.cfi->base();
    store_relaxed(module.begin, std::uint64_t{begin});
    store_relaxed(module.end, std::uint64_t{begin + placed.cfi->extent()});
    store_relaxed(module.rows, static_cast<std::uint32_t>(stored->at));
    store_relaxed(module.row_count, static_cast<std::uint32_t>(placed.cfi->rows().size()));
    store_relaxed(module.blocks, static_cast<std::uint32_t>(stored->at + stored->rows_words));
    store_relaxed(module.block_count, stored->block_count);
  }
  counts_[list] = count;
  version_ = version;
  store_relaxed(shared_->list_counts[list], count);
  __atomic_store_n(&shared_->version, version, __ATOMIC_RELEASE);
  drop_unused(sorted);
  return modules.size() - count;
}

const WalkerMemory::Stored* WalkerMemory::store(const std::shared_ptr<const CompactCfi>& cfi) {
  const auto known = stored_.find(cfi.get());
  if (known != stored_.end()) return &known->second;
  const std::vector<std::uint32_t> blocks = cfi->blocks();
  Stored stored{.cfi = cfi};
  stored.rows_words = cfi->rows().size();
  stored.block_count = static_cast<std::uint32_t>(blocks.size());
  stored.words = stored.rows_words + (blocks.size() + 1) / 2;
  stored.at = take(stored.words);
  if (stored.at == kNowhere) return nullptr;
  static_assert(sizeof(agent::RuleRow) == sizeof(std::uint64_t));
  auto* words = agent::at_offset<std::uint64_t>(shared_, places_.rows);
  std::memcpy(words + stored.at, cfi->rows().data(), stored.rows_words * sizeof(std::uint64_t));
  std::memcpy(words + stored.at + stored.rows_words, blocks.data(), blocks.size() * sizeof(std::uint32_t));
  return &stored_.emplace(cfi.get(), stored).first->second;
}

/// The first place that is large enough.
std::uint64_t WalkerMemory::take(std::uint64_t words) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [at, size] = *it;
    if (size < words) continue;
    free_.erase(it);
    if (size > words) free_[at + words] = size - words;
    return at;
  }
  return kNowhere;
}

void WalkerMemory::give_back(std::uint64_t at, std::uint64_t words) {
  const auto next = free_.lower_bound(at);
  if (next != free_.end() && next->first == at + words) {
    words += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(at);
  if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == at) {
    std::prev(after)->second += words;
    return;
  }
  free_[at] = words;
}

void WalkerMemory::drop_unused(const std::vector<Placed>& modules) {
  std::set<const CompactCfi*> used;
  for (const Placed& placed : modules) used.insert(placed.cfi.get());
  for (auto it = stored_.begin(); it != stored_.end();) {
    if (used.count(it->first) != 0) {
      ++it;
      continue;
    }
    give_back(it->second.at, it->second.words);
    it = stored_.erase(it);
  }
}

}  // namespace refhist
