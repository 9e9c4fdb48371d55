// The threads of a target whose debugger knows only processors: the tasks of a kernel.
#pragma once

#include <optional>
#include <string>

#include "port/debugger_port.h"
#include "port/registers.h"

namespace refhist {

class TaskView {
 public:
  virtual ~TaskView() = default;

  /// Where the task stands: of one that sleeps, only the stack pointer. Nothing when it cannot be told.
  virtual std::optional<Registers> registers(DebuggerPort& port, long task) = 0;
  /// As it was when the task was seen last.
  [[nodiscard]] virtual std::string name(long task) const = 0;
  virtual bool lives(DebuggerPort& port, long task) = 0;
  /// How many can run at one time.
  [[nodiscard]] virtual std::size_t processors() const = 0;
  /// Of `wanted` bytes of a stack from the address on, how many are to be read at once.
  virtual std::size_t stack_piece(Address address, std::size_t wanted) = 0;
};

}  // namespace refhist
