// The stopped program during one call from a debugger: its memory and registers by the fastest way there is.
#pragma once

#include <optional>
#include <string>

#include "agent/site_values.h"
#include "events/program_view.h"
#include "port/debugger_port.h"
#include "port/process_memory.h"

namespace refhist {

class ProgramAccess final : public ProgramView {
 public:
  /// `tracer_here`: the calling thread is the program's tracer, so ptrace gives registers without the
  /// debugger.
  ProgramAccess(DebuggerPort& port, const ProcessInfo& process, bool tracer_here)
      : port_(port), process_(process), memory_(port, process), tracer_here_(tracer_here) {}

  [[nodiscard]] std::optional<Registers> registers(long tid) const override;
  [[nodiscard]] bool read_word(Address address, Address& word) const override {
    return memory_.read_value(address, word);
  }
  [[nodiscard]] std::size_t read_memory(Address address, void* out, std::size_t size,
                                        bool once) const override;
  [[nodiscard]] const ProcessMemory& memory() const { return memory_; }
  [[nodiscard]] DebuggerPort& port() const { return port_; }
  [[nodiscard]] const ProcessInfo& process() const { return process_; }
  [[nodiscard]] std::string thread_name(long tid, ThreadNames& names) const override;
  [[nodiscard]] bool thread_lives(long tid) const override;
  [[nodiscard]] std::vector<long> threads() const override;
  [[nodiscard]] bool can_stop_behind() const override { return port_.can_stop_behind(); }
  [[nodiscard]] Count read_count(const MemberPlace& place, const CounterSpec& spec,
                                 Address object) const override;
  /// The count that the counter's bytes stand for.
  static std::int64_t count_from(std::uint64_t raw, const MemberPlace& place, const CounterSpec& spec) {
    return agent::references(raw, place.size, !place.is_signed, place.first_bit + spec.shift, spec.scale,
                             spec.bias, place.bits == 0 ? 0 : place.bits - spec.shift);
  }

  /// True when the calling thread traces the process (then ptrace is ours to use).
  static bool is_tracer(long pid);

 private:
  DebuggerPort& port_;
  const ProcessInfo& process_;
  ProcessMemory memory_;
  bool tracer_here_;
};

}  // namespace refhist
