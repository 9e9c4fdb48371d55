// The program at the moment of an event: as it stands there stopped, or as the agent saw it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "events/recorded_stack.h"
#include "events/thread_names.h"
#include "history/history.h"
#include "port/registers.h"
#include "symbols/module.h"
#include "symbols/unwinder.h"

namespace refhist {

class ProgramView {
 public:
  virtual ~ProgramView() = default;

  [[nodiscard]] virtual std::optional<Registers> registers(long tid) const = 0;
  [[nodiscard]] virtual bool read_word(Address address, Address& word) const = 0;
  /// The counter of the object, as the family's spec counts; nothing when it cannot be read.
  [[nodiscard]] virtual Count read_count(const MemberPlace& place, const CounterSpec& spec,
                                         Address object) const = 0;
  [[nodiscard]] virtual std::string thread_name(long tid, ThreadNames& names) const = 0;
  [[nodiscard]] virtual bool thread_lives(long tid) const = 0;
  /// As DebuggerPort says.
  [[nodiscard]] virtual bool can_stop_behind() const { return true; }
  /// The program's threads; empty when they do not matter, as what is told has happened already.
  [[nodiscard]] virtual std::vector<long> threads() const { return {}; }

  /// Does the word at this place of a thread's stack no longer hold that return address? Then the call is
  /// over.
  [[nodiscard]] virtual bool overwritten(Address slot, Address return_pc) const {
    Address word = 0;
    return !read_word(slot, word) || word != return_pc;
  }
  /// Reads a prefix of the memory; how many bytes. `once`: less than could be read will do.
  [[nodiscard]] virtual std::size_t read_memory(Address address, void* out, std::size_t size,
                                                bool once) const = 0;

  /// The thread of the event, if whoever tells of it knows.
  [[nodiscard]] virtual ThreadIndex thread() const { return {}; }
  /// When it happened, if that is not now: nanoseconds of the recorder's clock.
  [[nodiscard]] virtual std::optional<std::uint64_t> time_ns() const { return std::nullopt; }
  /// The events from this one on may have happened after the moment that this is the view of.
  [[nodiscard]] virtual EventId told_before() const { return {}; }
  /// The stack, if it was recorded with the event.
  [[nodiscard]] virtual const RecordedStack* stack() const { return nullptr; }
};

}  // namespace refhist
