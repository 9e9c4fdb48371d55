// The memory that the debugger shares with the agent: this side's mapping of it. Sparse: what nobody has
// touched costs nothing.
//
// The program can write anything into it. So the layout is kept here, and what is read there comes as
// Untrusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "agent/agent_abi.h"
#include "agent/object_entry.h"
#include "agent_host/damage.h"
#include "agent_host/shared_slot.h"
#include "agent_host/untrusted.h"
#include "agent_tables/walker_memory.h"
#include "base/types.h"

namespace refhist {

/// What has room in it.
struct AreaSize {
  std::uint32_t threads = 0;  ///< that can be followed at one time; up to agent::kThreadSlots
  std::uint32_t objects = 0;  ///< that stop rules can look at; a power of two
  WalkerSizes walker;
};

/// What the debugger may correct of the agent's entry of an object.
struct SharedObject {
  Untrusted<std::int32_t> count;
  Untrusted<agent::ObjectState> state;
  Untrusted<std::uint8_t> based;
};

class SharedArea {
 public:
  static const AreaSize kLarge;  ///< 2 GiB of address space
  static const AreaSize kSmall;  ///< a tenth of it, for a program that may not have much
  static constexpr std::uint64_t kCodePiece = 8U << 20U;  ///< bytes; stubs take about 256 each
  static constexpr unsigned kCodePieces = 4;

  /// Takes over a memory file descriptor that can be sealed: sizes it for good, maps it, lays it out. Throws
  /// Error.
  SharedArea(int descriptor, const AreaSize& room);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  [[nodiscard]] unsigned thread_slots() const { return room_.threads; }
  [[nodiscard]] SharedSlot slot(unsigned index) const { return SharedSlot(raw_slot(index)); }
  /// Gives the slot of a thread that has ended back to the agent.
  void forget_slot(unsigned index) const;
  [[nodiscard]] Untrusted<agent::Record> record(unsigned slot, std::uint64_t index) const {
    return Untrusted(raw_record(slot, index));
  }
  /// Of that record, which is whole when it is the number of this turn.
  [[nodiscard]] Untrusted<std::uint32_t> lap(unsigned slot, std::uint64_t index) const {
    return Untrusted(raw_record(slot, index).lap);
  }
  /// The ring as it is when nobody has written records from that one on.
  void clear_ring(unsigned slot, std::uint64_t first) const;

  /// Below this address the program has nothing mapped.
  void set_lowest(Address address) const { shared().lowest = address; }
  /// How many blocks the program may get back late; 0: it gets each at once.
  void set_quarantine(std::uint32_t blocks) const { shared().withheld_blocks = blocks; }
  /// agent::Shared::plain_sizes.
  void set_plain(std::size_t size_class, bool plain) const {
    shared().plain_sizes[size_class] = plain ? 1 : 0;
  }
  /// agent::Shared::object_sizes.
  void note_object_size(std::size_t size_class) const { shared().object_sizes[size_class] = 1; }
  /// Blocks that have come into quarantine, whether no more are to, and blocks that found no room there.
  [[nodiscard]] Untrusted<std::uint64_t> withheld() const { return Untrusted(shared().withheld_next); }
  [[nodiscard]] Untrusted<std::uint32_t> withheld_enough() const {
    return Untrusted(shared().withheld_enough);
  }
  [[nodiscard]] Untrusted<std::uint64_t> turned_away() const { return Untrusted(shared().turned_away); }
  /// The page at this address may be in quarantine.
  [[nodiscard]] bool may_be_withheld(Address address) const;
  /// A sign of life for the program.
  void beat() const;
  [[nodiscard]] Untrusted<std::uint32_t> slots_full() const { return Untrusted(shared().slots_full); }
  [[nodiscard]] Untrusted<std::uint32_t> slot_hint() const { return Untrusted(shared().slot_hint); }
  [[nodiscard]] Untrusted<std::uint32_t> undecided() const { return Untrusted(shared().undecided); }
  [[nodiscard]] Untrusted<std::uint32_t> objects_full() const { return Untrusted(shared().objects_full); }
  [[nodiscard]] Untrusted<std::uint32_t> confined() const { return Untrusted(shared().confined); }
  [[nodiscard]] Untrusted<std::uint64_t> sole() const { return Untrusted(shared().sole); }
  /// Those that stop rules look at; `count` of them, of which not all may be named.
  void set_families(std::span<const std::uint16_t> named, std::uint32_t count) const;

  /// A thread is in the agent, or a signal handler has kept it from leaving.
  [[nodiscard]] bool in_use() const;
  /// For good, with nobody in the agent and no EventDrain: a thread that comes late all the same finds no
  /// slot and no room. Behind the returned offset it looks at nothing.
  [[nodiscard]] std::uint64_t retire() const;
  /// Nothing when the agent has no entry for it. Not while the program runs.
  [[nodiscard]] std::optional<SharedObject> find_object(std::uint64_t key) const;
  /// The thread of that slot holds the object of its ThreadSlot::held no more.
  void release_held(unsigned index) const;

  /// Where the agent finds things is written there again, should it be damaged.
  void put_layout_right() const;
  [[nodiscard]] Damage& damage() const { return damage_; }

  /// What the stack walker works with.
  [[nodiscard]] WalkerMemory& walk() const { return *walk_; }
  [[nodiscard]] std::span<std::uint8_t> code_piece(unsigned index) const;

  /// What the program maps: offsets and sizes in the file.
  [[nodiscard]] std::uint64_t data_size() const { return granules_ + kGranuleBytes; }
  [[nodiscard]] std::uint64_t code_offset(unsigned piece) const { return data_size() + piece * kCodePiece; }

 private:
  static constexpr std::uint64_t kGranuleBytes = agent::kGranules / 8;
  static constexpr std::uint64_t kRing = std::uint64_t{agent::kRingRecords} * sizeof(agent::Record);

  void size_for_good(std::uint64_t size) const;
  template <class Use>
  void for_each_place(Use&& use) const;
  [[nodiscard]] agent::Shared& shared() const { return *reinterpret_cast<agent::Shared*>(base_); }
  [[nodiscard]] agent::ThreadSlot& raw_slot(unsigned index) const;
  [[nodiscard]] agent::Record& raw_record(unsigned slot, std::uint64_t index) const {
    auto* ring = reinterpret_cast<agent::Record*>(base_ + rings_ + slot * kRing);
    return ring[index % agent::kRingRecords];
  }
  [[nodiscard]] agent::ObjectEntry& raw_object(std::uint64_t index) const;
  /// The place in the table, from its offset; nothing when no entry begins there.
  [[nodiscard]] std::optional<std::uint64_t> object_index(std::uint64_t offset) const;

  int descriptor_;
  AreaSize room_;
  // Offsets from the base.
  std::uint64_t rings_ = 0;
  std::uint64_t walkers_ = 0;
  std::uint64_t walk_at_ = 0;
  std::uint64_t objects_ = 0;
  std::uint64_t withheld_ = 0;
  std::uint64_t withheld_pages_ = 0;
  std::uint64_t block_classes_ = 0;
  std::uint64_t granules_ = 0;
  std::uint8_t* base_ = nullptr;
  std::unique_ptr<WalkerMemory> walk_;
  mutable Damage damage_;
};

}  // namespace refhist
