// Children of a program whose debugger was killed. A debugger takes its breakpoints out of a child of fork
// and lets it go, if it lives for so long: else the child has them in its copy of the code, and may stand
// still.
#pragma once

#include <sys/types.h>

#include <map>

#include "guard/mended_code.h"

namespace refhist::guard {

class NewbornChildren {
 public:
  explicit NewbornChildren(pid_t parent) : parent_(parent) {}

  /// Takes out of their code what was taken out of the program's: at once, for they may run at any moment.
  void mend(const MendedCode& code);
  /// And what that has not had any more.
  void mend_fully();
  /// Those that the debugger's SIGSTOP keeps. Whoever else stops one has not done so right after its birth.
  void go_on();

 private:
  struct Child {
    bool mended = false;
    bool searched = false;
    int pidfd = -1;
  };

  void find();

  pid_t parent_;
  std::map<pid_t, Child> known_;
};

}  // namespace refhist::guard
