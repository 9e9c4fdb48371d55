#include "agent_host/shared_area.h"

#include <sys/mman.h>
#include <unistd.h>

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
constexpr std::uint64_t kRing = std::uint64_t{agent::kRingRecords} * sizeof(agent::Record);
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
      granules_(objects_ + pages(room.objects * sizeof(agent::ObjectEntry))) {
  const std::uint64_t size = code_offset(kCodePieces);
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    const int reason = errno;
    close(descriptor_);
    fail("the shared memory of the agent cannot be made {} bytes long: {}", size, std::strerror(reason));
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
  shared().table = kTable;
  shared().slots = kSlots;
  shared().rings = rings_;
  shared().walkers = walkers_;
  shared().walk = walk_at_;
  shared().objects = objects_;
  shared().granules = granules_;
  shared().thread_slots = room.threads;
  shared().object_mask = room.objects - 1;
  walk_ = std::make_unique<WalkerMemory>(base_ + walk_at_, room.walker);
}

SharedArea::~SharedArea() {
  munmap(base_, code_offset(kCodePieces));
  close(descriptor_);
}

agent::ThreadSlot& SharedArea::slot(unsigned index) const {
  return reinterpret_cast<agent::ThreadSlot*>(base_ + kSlots)[index];
}

void SharedArea::forget_slot(unsigned index) const {
  // A later thread with the same thread pointer must not take the entry of the one that has ended.
  auto* table = reinterpret_cast<agent::ThreadTableEntry*>(base_ + kTable);
  for (unsigned i = 0; i <= agent::kThreadTable; ++i) {
    if (table[i].slot == index + 1) __atomic_store_n(&table[i].slot, 0U, __ATOMIC_RELAXED);
  }
  agent::ThreadSlot& ended = slot(index);
  const agent::ThreadSlot empty{};
  ended.tid = empty.tid;
  ended.lost = empty.lost;
  ended.level = empty.level;
  auto* walkers = reinterpret_cast<agent::WalkerThread*>(base_ + walkers_ + index * kThreadWalkers);
  for (unsigned i = 0; i < agent::kWalkers; ++i) walkers[i].forget();
  __atomic_store_n(&ended.taken, 0U, __ATOMIC_RELEASE);
}

bool SharedArea::in_use() const {
  for (unsigned i = 0; i < room_.threads; ++i) {
    if (slot(i).taken != 0 && slot(i).level != 0) return true;
  }
  return false;
}

std::uint64_t SharedArea::retire() const {
  std::memset(base_ + kTable, 0, (agent::kThreadTable + 1) * sizeof(agent::ThreadTableEntry));
  shared().unattended = 1;
  shared().object_mask = 0;
  shared().objects = kTable;
  for (unsigned i = 0; i < room_.threads; ++i) {
    agent::ThreadSlot& slot = this->slot(i);
    slot.taken = 1;
    slot.sent = {};
    slot.consumed = slot.reserved - agent::kRingRecords;
  }
  return rings_;
}

const agent::Record& SharedArea::record(unsigned slot, std::uint64_t index) const {
  const auto* ring = reinterpret_cast<const agent::Record*>(base_ + rings_ + slot * kRing);
  return ring[index % agent::kRingRecords];
}

agent::ObjectEntry* SharedArea::find_object(std::uint64_t key) const {
  auto* entries = reinterpret_cast<agent::ObjectEntry*>(base_ + objects_);
  const std::uint32_t first = agent::first_object_slot(key);
  for (std::uint32_t i = 0; i < agent::kObjectProbes; ++i) {
    agent::ObjectEntry& entry = entries[(first + i) & (room_.objects - 1)];
    if (entry.key == key) return &entry;
    if (entry.key == 0) return nullptr;
  }
  return nullptr;
}

std::span<std::uint8_t> SharedArea::code_piece(unsigned index) const {
  return {base_ + code_offset(index), kCodePiece};
}

}  // namespace refhist
