// One thread's slot in the shared memory, as the debugger's side sees it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "agent/agent_abi.h"
#include "agent_host/untrusted.h"

namespace refhist {

class SharedSlot {
 public:
  explicit SharedSlot(agent::ThreadSlot& slot) : slot_(&slot) {}

  [[nodiscard]] Untrusted<std::uint32_t> taken() const { return Untrusted(slot_->taken); }
  [[nodiscard]] Untrusted<std::int32_t> tid() const { return Untrusted(slot_->tid); }
  [[nodiscard]] Untrusted<std::uint32_t> owner() const { return Untrusted(slot_->owner); }
  [[nodiscard]] Untrusted<std::uint32_t> processor() const { return Untrusted(slot_->processor); }
  [[nodiscard]] Untrusted<std::uint64_t> reserved() const { return Untrusted(slot_->reserved); }
  [[nodiscard]] Untrusted<std::uint64_t> finished() const { return Untrusted(slot_->finished); }
  [[nodiscard]] Untrusted<std::uint64_t> lost() const { return Untrusted(slot_->lost); }
  [[nodiscard]] Untrusted<std::uint32_t> level() const { return Untrusted(slot_->level); }
  [[nodiscard]] Untrusted<std::uint64_t> held() const { return Untrusted(slot_->held); }
  [[nodiscard]] Untrusted<std::uint64_t> consumed() const { return Untrusted(slot_->consumed); }
  /// SentBack::site.
  [[nodiscard]] Untrusted<std::uint64_t> sent() const { return Untrusted(slot_->sent.site); }
  /// Of the thread when the slot was taken; whatever bytes stand there.
  [[nodiscard]] std::string name() const {
    char name[sizeof slot_->name + 1] = {};
    std::memcpy(name, slot_->name, sizeof slot_->name);
    return name;
  }

 private:
  agent::ThreadSlot* slot_;
};

}  // namespace refhist
