#include "agent_host/shared_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/object_entry.h"
#include "agent/stack_walker.h"
#include "base/error.h"

namespace refhist {

namespace {

constexpr std::uint64_t pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

constexpr std::uint64_t kTable = kPage;
constexpr std::uint64_t kSlots = kTable + pages((agent::kThreadTable + 1) * sizeof(agent::ThreadTableEntry));
constexpr std::uint64_t kThreadWalkers = agent::kWalkers * sizeof(agent::WalkerThread);
static_assert(sizeof(agent::Shared) <= kPage);
}  // namespace

const AreaSize SharedArea::kLarge{agent::kThreadSlots, 1U << 22U, {}};
const AreaSize SharedArea::kSmall{64, 1U << 18U, {1024, std::uint64_t{32} << 20U, 1U << 20U}};

SharedArea::SharedArea(int descriptor, const AreaSize& room)
    : descriptor_(descriptor),
      room_(room),
      rings_(kSlots + pages(room.threads * sizeof(agent::ThreadSlot))),
      walkers_(rings_ + room.threads * kRing),
      walk_at_(walkers_ + pages(room.threads * kThreadWalkers)),
      objects_(walk_at_ + pages(WalkerMemory::bytes(room.walker))),
      withheld_(objects_ + pages(room.objects * sizeof(agent::ObjectEntry))),
      withheld_pages_(withheld_ + pages(agent::kMostWithheld * sizeof(Address))),
      block_classes_(withheld_pages_ + agent::kWithheldPages),
      granules_(block_classes_ + agent::kBlockClasses * sizeof(std::uint16_t)) {
  const std::uint64_t size = code_offset(kCodePieces);
  try {
    size_for_good(size);
  } catch (...) {
    close(descriptor_);
    throw;
  }
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    const int reason = errno;
    close(descriptor_);
    fail("the shared memory of the agent cannot be mapped: {}", std::strerror(reason));
  }
  // A debugger that forks (a shell, the next program) must not hold it twice.
  madvise(mapped, size, MADV_DONTFORK);
  base_ = static_cast<std::uint8_t*>(mapped);
  walk_ = std::make_unique<WalkerMemory>(base_ + walk_at_, room.walker);
  for_each_place([](auto& place, auto value) { place = value; });
}

SharedArea::~SharedArea() {
  munmap(base_, code_offset(kCodePieces));
  close(descriptor_);
}

// Where the program could make the file shorter, a look behind its end would end the debugger.
void SharedArea::size_for_good(std::uint64_t size) const {
  struct stat file {};
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
    fail("the shared memory of the agent cannot be made {} bytes long: {}", size, std::strerror(errno));
  if (fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail("the size of the agent's shared memory cannot be sealed: {}", std::strerror(errno));
  if (fstat(descriptor_, &file) != 0 || file.st_size != static_cast<off_t>(size))
    fail("somebody else has changed the size of the agent's shared memory");
}

/// Calls `use(place, value)` with each word that tells the agent where things are.
template <class Use>
void SharedArea::for_each_place(Use&& use) const {
  agent::Shared& shared = this->shared();
  use(shared.table, kTable);
  use(shared.slots, kSlots);
  use(shared.rings, rings_);
  use(shared.walkers, walkers_);
  use(shared.walk, walk_at_);
  use(shared.objects, objects_);
  use(shared.granules, granules_);
  use(shared.withheld, withheld_);
  use(shared.withheld_pages, withheld_pages_);
  use(shared.block_classes, block_classes_);
  use(shared.thread_slots, room_.threads);
  use(shared.object_mask, room_.objects - 1);
}

void SharedArea::put_layout_right() const {
  std::uint64_t words = walk_->put_right();
  for_each_place([&](auto& place, std::uint64_t value) {
    const Untrusted word(place);
    if (word.is(value)) return;
    word.store(value);
    ++words;
  });
  if (words != 0) damage_.put_right(words);
}

void SharedArea::beat() const {
  __atomic_fetch_add(&shared().heartbeat, 1, __ATOMIC_RELAXED);
  const Untrusted unattended(shared().unattended);
  if (!unattended.is(0)) unattended.store(0);
}

void SharedArea::set_families(std::span<const std::uint16_t> named, std::uint32_t count) const {
  std::copy(named.begin(), named.end(), shared().families);
  shared().watched = count;
}

agent::ThreadSlot& SharedArea::raw_slot(unsigned index) const {
  return reinterpret_cast<agent::ThreadSlot*>(base_ + kSlots)[index];
}

agent::ObjectEntry& SharedArea::raw_object(std::uint64_t index) const {
  return reinterpret_cast<agent::ObjectEntry*>(base_ + objects_)[index];
}

void SharedArea::clear_ring(unsigned slot, std::uint64_t first) const {
  for (std::uint64_t i = first; i != first + agent::kRingRecords; ++i)
    lap(slot, i).store(static_cast<std::uint32_t>(i / agent::kRingRecords));
}

void SharedArea::forget_slot(unsigned index) const {
  // A later thread with the same thread pointer must not take the entry of the one that has ended.
  auto* table = reinterpret_cast<agent::ThreadTableEntry*>(base_ + kTable);
  for (unsigned i = 0; i <= agent::kThreadTable; ++i) {
    if (table[i].slot == index + 1) __atomic_store_n(&table[i].slot, 0U, __ATOMIC_RELAXED);
  }
  agent::ThreadSlot& ended = raw_slot(index);
  const agent::ThreadSlot empty{};
  ended.tid = empty.tid;
  ended.owner = empty.owner;
  ended.lost = empty.lost;
  ended.level = empty.level;
  auto* walkers = reinterpret_cast<agent::WalkerThread*>(base_ + walkers_ + index * kThreadWalkers);
  for (unsigned i = 0; i < agent::kWalkers; ++i) walkers[i].forget();
  __atomic_store_n(&ended.taken, 0U, __ATOMIC_RELEASE);
}

bool SharedArea::in_use() const {
  for (unsigned i = 0; i < room_.threads; ++i) {
    if (!slot(i).taken().is(0) && !slot(i).level().is(0)) return true;
  }
  return false;
}

bool SharedArea::may_be_withheld(Address address) const {
  return base_[withheld_pages_ + address / kPage % agent::kWithheldPages] != 0;
}

std::uint64_t SharedArea::retire() const {
  std::memset(base_ + kTable, 0, (agent::kThreadTable + 1) * sizeof(agent::ThreadTableEntry));
  shared().unattended = 1;
  shared().withheld_blocks = 0;
  shared().object_mask = 0;
  shared().objects = kTable;
  for (unsigned i = 0; i < room_.threads; ++i) {
    agent::ThreadSlot& slot = raw_slot(i);
    slot.taken = 1;
    slot.sent = {};
    slot.consumed = slot.reserved - agent::kRingRecords;
  }
  return rings_;
}

std::optional<SharedObject> SharedArea::find_object(std::uint64_t key) const {
  const std::uint32_t first = agent::first_object_slot(key);
  for (std::uint32_t i = 0; i < agent::kObjectProbes; ++i) {
    agent::ObjectEntry& entry = raw_object((first + i) & (room_.objects - 1));
    const std::uint64_t there = Untrusted(entry.key).claimed();
    if (there == key)
      return SharedObject{Untrusted(entry.word.count), Untrusted(entry.word.state),
                          Untrusted(entry.word.based)};
    if (there == 0) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> SharedArea::object_index(std::uint64_t offset) const {
  const std::uint64_t within = offset - objects_;  // of one in front of the table: too large
  const std::uint64_t index = within / sizeof(agent::ObjectEntry);
  if (within % sizeof(agent::ObjectEntry) != 0 || index >= room_.objects) return std::nullopt;
  return index;
}

void SharedArea::release_held(unsigned index) const {
  const Untrusted held = slot(index).held();
  const std::uint64_t offset = held.claimed();
  if (offset == 0) return;
  if (const auto object = object_index(offset)) {
    Untrusted(raw_object(*object).holder).replace(index + 1, 0);
  } else {
    damage_.put_right();
  }
  held.store(0);
}

std::span<std::uint8_t> SharedArea::code_piece(unsigned index) const {
  return {base_ + code_offset(index), kCodePiece};
}

}  // namespace refhist
