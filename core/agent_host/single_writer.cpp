#include "agent_host/single_writer.h"

namespace refhist {

void SingleWriter::looked(const SharedArea& area, unsigned slots) {
  unsigned recording = 0;
  unsigned number = kNobody;
  for (unsigned i = 0; i < slots; ++i) {
    const std::uint64_t reserved = area.slot(i).reserved().claimed();
    if (reserved == reserved_[i]) continue;
    reserved_[i] = reserved;
    number = i + 1;
    ++recording;
  }
  if (recording != 1) number = kNobody;
  const bool named = number != kNobody && number == last_;
  last_ = number;
  const std::uint64_t name = named ? ++looks_ * agent::kSoleNumbers + number : 0;
  processor_ = named ? static_cast<int>(area.slot(number - 1).processor().claimed()) : OtherProcessors::kNone;
  const Untrusted sole = area.sole();
  if (name == 0 && sole.is(0)) return;
  // Not as weak as other stores: who is named looks at the object behind this.
  sole.exchange(name);
}

}  // namespace refhist
