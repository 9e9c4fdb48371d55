#include "agent_host/sole_recorder.h"

namespace refhist {

void SoleRecorder::looked(const SharedArea& area, unsigned slots) {
  unsigned recording = 0;
  unsigned number = kNobody;
  for (unsigned i = 0; i < slots; ++i) {
    const std::uint64_t reserved = __atomic_load_n(&area.slot(i).reserved, __ATOMIC_RELAXED);
    if (reserved == reserved_[i]) continue;
    reserved_[i] = reserved;
    number = i + 1;
    ++recording;
  }
  if (recording != 1) number = kNobody;
  const bool named = number != kNobody && number == last_;
  last_ = number;
  const std::uint64_t name = named ? ++looks_ * agent::kSoleNumbers + number : 0;
  processor_ = named ? static_cast<int>(__atomic_load_n(&area.slot(number - 1).processor, __ATOMIC_RELAXED))
                     : OtherProcessors::kNone;
  std::uint64_t& sole = area.shared().sole;
  if (name != 0 || __atomic_load_n(&sole, __ATOMIC_RELAXED) != 0)
    __atomic_store_n(&sole, name, __ATOMIC_SEQ_CST);
}

}  // namespace refhist
