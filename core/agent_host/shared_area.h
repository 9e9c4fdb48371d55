// The memory that the debugger shares with the agent: this side's mapping of it. Sparse: what nobody has
// touched costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "agent/agent_abi.h"
#include "agent/object_entry.h"
#include "agent_tables/walker_memory.h"
#include "base/types.h"

namespace refhist {

/// What has room in it.
struct AreaSize {
  std::uint32_t threads = 0;  ///< that can be followed at one time; up to agent::kThreadSlots
  std::uint32_t objects = 0;  ///< that stop rules can look at; a power of two
  WalkerSizes walker;
};

class SharedArea {
 public:
  static const AreaSize kLarge;  ///< 2 GiB of address space
  static const AreaSize kSmall;  ///< a tenth of it, for a program that may not have much
  static constexpr std::uint64_t kCodePiece = 8U << 20U;  ///< bytes; stubs take about 256 each
  static constexpr unsigned kCodePieces = 4;

  /// Takes over a memory file descriptor: sizes it, maps it, lays it out. Throws Error.
  SharedArea(int descriptor, const AreaSize& room);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  [[nodiscard]] agent::Shared& shared() const { return *reinterpret_cast<agent::Shared*>(base_); }
  [[nodiscard]] unsigned thread_slots() const { return room_.threads; }
  [[nodiscard]] agent::ThreadSlot& slot(unsigned index) const;
  /// Gives the slot of a thread that has ended back to the agent.
  void forget_slot(unsigned index) const;
  [[nodiscard]] const agent::Record& record(unsigned slot, std::uint64_t index) const;
  /// A thread is in the agent, or a signal handler has kept it from leaving.
  [[nodiscard]] bool in_use() const;
  /// For good, with nobody in the agent: a thread that comes late all the same finds no slot and no room.
  /// Behind the returned offset it looks at nothing.
  [[nodiscard]] std::uint64_t retire() const;
  /// Null when the agent has no entry for it. Not while the program runs.
  [[nodiscard]] agent::ObjectEntry* find_object(std::uint64_t key) const;
  /// What the stack walker works with.
  [[nodiscard]] WalkerMemory& walk() const { return *walk_; }
  [[nodiscard]] std::span<std::uint8_t> code_piece(unsigned index) const;

  /// What the program maps: offsets and sizes in the file.
  [[nodiscard]] std::uint64_t data_size() const { return granules_ + kGranuleBytes; }
  [[nodiscard]] std::uint64_t code_offset(unsigned piece) const { return data_size() + piece * kCodePiece; }

 private:
  static constexpr std::uint64_t kGranuleBytes = agent::kGranules / 8;

  int descriptor_;
  AreaSize room_;
  // Offsets from the base.
  std::uint64_t rings_ = 0;
  std::uint64_t walkers_ = 0;
  std::uint64_t walk_at_ = 0;
  std::uint64_t objects_ = 0;
  std::uint64_t granules_ = 0;
  std::uint8_t* base_ = nullptr;
  std::unique_ptr<WalkerMemory> walk_;
};

}  // namespace refhist
