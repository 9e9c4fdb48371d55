// The other side of the shared memory: writes slots, rings and stacks as the agent in a program does.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cstdint>

#include "agent/agent_abi.h"
#include "agent/walker_shared.h"

namespace refhist::test {

class FakeProgram {
 public:
  /// Takes over a descriptor of the memory file, which need not have its size before the first use.
  explicit FakeProgram(int descriptor) : descriptor_(descriptor) {}
  ~FakeProgram() {
    if (base_ != nullptr) munmap(base_, size_);
    close(descriptor_);
  }
  FakeProgram(const FakeProgram&) = delete;
  FakeProgram& operator=(const FakeProgram&) = delete;

  /// A time stamp right before this program began, near enough.
  [[nodiscard]] std::uint64_t began() const { return began_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  char* base() {
    if (base_ == nullptr) map();
    return base_;
  }
  agent::Shared& shared() { return *reinterpret_cast<agent::Shared*>(base()); }
  agent::ThreadSlot& slot(unsigned index) {
    return reinterpret_cast<agent::ThreadSlot*>(base() + places().slots)[index];
  }
  agent::Record& record(unsigned slot, std::uint64_t index) {
    auto* rings = reinterpret_cast<agent::Record*>(base() + places().rings);
    return rings[std::uint64_t{agent::kRingRecords} * slot + index % agent::kRingRecords];
  }
  agent::WalkerShared& walk() { return *reinterpret_cast<agent::WalkerShared*>(base() + places().walk); }
  agent::StackNode& node(std::uint32_t number) {
    return reinterpret_cast<agent::StackNode*>(reinterpret_cast<char*>(&walk()) + nodes_at_)[number];
  }
  /// As the layout was at first: what stands there may be damaged.
  const agent::Shared& places() {
    base();
    return places_;
  }

  /// `owner`: the number at the thread's thread pointer.
  void take_slot(unsigned index, int tid, int owner = 0) {
    slot(index).owner = static_cast<std::uint32_t>(owner);
    slot(index).tid = tid;
    __atomic_store_n(&slot(index).taken, 1U, __ATOMIC_RELEASE);
  }
  std::uint64_t reserve(unsigned index) {
    return __atomic_fetch_add(&slot(index).reserved, 1, __ATOMIC_SEQ_CST);
  }
  void finish(unsigned index, std::uint64_t number, const agent::Record& filled) {
    agent::Record& record = this->record(index, number);
    agent::Record whole = filled;
    whole.lap = record.lap;
    record = whole;
    __atomic_store_n(&record.lap, static_cast<std::uint32_t>(number / agent::kRingRecords) + 1,
                     __ATOMIC_RELEASE);
    ++slot(index).finished;
  }

 private:
  void map() {
    struct stat file {};
    fstat(descriptor_, &file);
    size_ = static_cast<std::size_t>(file.st_size);
    base_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0));
    places_ = *reinterpret_cast<const agent::Shared*>(base_);
    nodes_at_ = reinterpret_cast<const agent::WalkerShared*>(base_ + places_.walk)->nodes_at;
  }

  int descriptor_;
  std::uint64_t began_ = __rdtsc();
  char* base_ = nullptr;
  std::size_t size_ = 0;
  agent::Shared places_{};
  std::uint64_t nodes_at_ = 0;
};

}  // namespace refhist::test
