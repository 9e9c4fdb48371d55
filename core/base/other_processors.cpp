#include "base/other_processors.h"

namespace refhist {

void OtherProcessors::avoid(int processor) {
  if (processor == avoided_) return;
  avoided_ = processor;
  if (!known_ && sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) return;  // more than the set can name
  known_ = true;
  cpu_set_t wanted = allowed_;
  if (processor >= 0 && processor < CPU_SETSIZE) CPU_CLR(static_cast<unsigned>(processor), &wanted);
  if (CPU_COUNT(&wanted) != 0) sched_setaffinity(0, sizeof wanted, &wanted);
}

}  // namespace refhist
