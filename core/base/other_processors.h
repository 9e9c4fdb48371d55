// Keeps a thread of ours off the processor on which a thread of the program works: where processors are few,
// the scheduler puts both on one.
#pragma once

#include <sched.h>

namespace refhist {

class OtherProcessors {
 public:
  static constexpr int kNone = -1;

  /// Of the calling thread, from now on; `processor` is its number or kNone. Where it may run on no other
  /// one, it stays.
  void avoid(int processor);

 private:
  bool known_ = false;
  int avoided_ = kNone;
  cpu_set_t allowed_{};  // without us
};

}  // namespace refhist
