// Which memory around the stack of one thread can be read without a fault. A page that is not known is tried
// by a system call that reads it and changes nothing. Freestanding.
//
// What is known lasts only as long as the thread stays on the stack: two ranges, one around the stack pointer
// and one for a stack further out (below a handler on its own signal stack, or beyond a huge frame). Both are
// forgotten when the thread shows up on another stack. Between two looks a stack may have been unmapped and
// another one, smaller, been put in its place; so the walker reads, even inside a known range, only where the
// frames that it has proven so far say that the next one is. Such memory is in use by the program itself.
#pragma once

#include <stdint.h>

namespace refhist::agent {

class ReadableMemory {
 public:
  /// The thread is at this stack pointer, which is readable. False when it is on another stack than before:
  /// the ranges are new.
  bool enter(uint64_t stack_pointer, bool system_calls) {
    return stack_pointer - home_.begin < home_.size || enter_slowly(stack_pointer, system_calls);
  }

  /// Readable without looking any further.
  bool known(uint64_t address) const { return address - home_.begin < home_.size; }

  /// The 8 bytes at the address, which is a multiple of 8.
  bool readable(uint64_t address, bool system_calls) {
    return address - home_.begin < home_.size || address - far_.begin < far_.size ||
           reach(address, system_calls);
  }

  void forget() {
    home_ = {};
    far_ = {};
  }
  /// At any address, which may cost a system call.
  static bool can_read(uint64_t address);

  /// True when a range that was known has been given up since the last call of this.
  bool take_forgot() {
    const bool forgot = forgot_ != 0;
    forgot_ = 0;
    return forgot;
  }

 private:
  struct Range {
    uint64_t begin;
    uint64_t size;
  };
  bool enter_slowly(uint64_t stack_pointer, bool system_calls);
  bool reach(uint64_t address, bool system_calls);
  static bool widen(Range& range, uint64_t address);

  Range home_;
  Range far_;
  uint64_t forgot_;
};

}  // namespace refhist::agent
