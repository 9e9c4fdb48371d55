// Patches written into this very process (a forked child, in the tests), with a stub that counts.
#pragma once

#include <functional>
#include <string>

#include "patching_support.h"

namespace refhist_test {

class LivePatches {
 public:
  explicit LivePatches(const PatchedLibrary& library);
  ~LivePatches();
  LivePatches(const LivePatches&) = delete;
  LivePatches& operator=(const LivePatches&) = delete;

  /// Plans the function and writes its stub; why not, or nothing.
  std::string add(refhist::Address function, std::uint64_t size,
                  const std::vector<refhist::Address>& keep = {});
  void write_all();
  /// Puts the bytes back; true when all code is what it was before.
  bool restore_all();
  const refhist::Patch& patch(refhist::Address function) const { return at(function).patch; }
  std::uint64_t count(refhist::Address function) const { return at(function).slot->count; }
  /// rsp when the stub was last entered.
  refhist::Address last_rsp(refhist::Address function) const { return at(function).slot->rsp; }

 private:
  struct Slot {
    std::uint64_t count;
    std::uint64_t rsp;
    std::uint8_t code[240];
  };
  struct Live {
    refhist::Patch patch;
    Slot* slot;
  };
  const Live& at(refhist::Address function) const { return live_.at(function); }
  void let_write(bool writable) const;

  const PatchedLibrary& library_;
  Slot* slots_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::vector<std::uint8_t>> before_;  // the code as it was, range by range
  std::map<refhist::Address, Live> live_;
};

/// What a function is called with, and what it leaves.
struct Machine {
  std::uint64_t general[16];  // by number: rax rcx rdx rbx rsp rbp rsi rdi r8…
  std::uint64_t flags;
  std::uint64_t stack[17];  // [16] is not used: keeps the alignment
  alignas(16) std::uint8_t vector[16][16];
  alignas(16) std::uint8_t fxsave[512];
};

/// Calls the function with these registers and stack arguments, and fills `after`. What means nothing in
/// it (where the last x87 instruction stood, empty registers) is cleared, so that two results can be compared
/// as bytes.
void call_with(refhist::Address function, const Machine& before, Machine& after);

/// Runs the body in a forked child; what it returned, or how it died and what it wrote to `doing` (4095
/// characters) last.
std::string in_child(const std::function<std::string(char* doing)>& body);

}  // namespace refhist_test
