#include "events/signal_frames.h"

#include <algorithm>
#include <array>
#include <csignal>

namespace refhist {

namespace {
constexpr Address kReach = 16384;  // bytes below the stack pointer that a frame lies within
constexpr Address kStackLimit = 256 << 10;

// Of ucontext_t: the general registers in this order, then six words that the kernel fills in, then a pointer
// to the floating point state, which in the frame itself follows at once. `uc_stack` stands before all that.
constexpr std::array<Register, 17> kSaved{kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15, kRdi,
                                          kRsi, kRbp, kRbx, kRdx, kRax, kRcx, kRsp, kRip};
constexpr std::size_t kSavedSp = 15;
constexpr std::size_t kSavedPc = 16;
constexpr std::size_t kSavedFloats = 23;
constexpr Address kFloatsWithin = 4096;
constexpr Address kStackBefore = 24;  // ss_sp, ss_flags, ss_size

bool is_frame(const Address* saved, Address at, const Registers& registers) {
  for (std::size_t i = 0; i < kSaved.size(); ++i) {
    if (saved[i] != registers[kSaved[i]]) return false;
  }
  return saved[kSavedFloats] > at && saved[kSavedFloats] - at < kFloatsWithin;
}
}  // namespace

void SignalFrames::look_at(Address begin, Address end) {
  if (begin_ <= begin && end <= end_) return;
  begin_ = begin & ~(kPage - 1);
  end_ = begin_;
  std::size_t got = 0;
  // What is not mapped at the lower end is left out.
  for (; begin_ < end && got == 0; begin_ = got == 0 ? begin_ + kPage : begin_) {
    words_.resize((end - begin_) / sizeof(Address));
    got = memory_.read(begin_, words_.data(), words_.size() * sizeof(Address));
  }
  words_.resize(got / sizeof(Address));
  end_ = begin_ + words_.size() * sizeof(Address);
}

std::vector<Address> SignalFrames::find(const Registers& registers, Address begin, Address end) {
  look_at(begin, end);
  std::vector<Address> found;
  const std::array<Address, 2> place{registers.sp(), registers.pc()};
  for (auto at = words_.begin();; ++at) {
    at = std::search(at, words_.end(), place.begin(), place.end());
    if (at == words_.end()) return found;
    const auto index = static_cast<std::size_t>(at - words_.begin());
    if (index < kSavedSp || index - kSavedSp + kSavedFloats >= words_.size()) continue;
    const Address frame = begin_ + (index - kSavedSp) * sizeof(Address);
    if (frame >= begin && frame < end && is_frame(&words_[index - kSavedSp], frame, registers))
      found.push_back(frame);
  }
}

std::vector<Address> SignalFrames::find_below(const Registers& registers) {
  const Address sp = registers.sp();
  return find(registers, sp < kReach ? 0 : sp - kReach, sp);
}

std::optional<SignalStack> SignalFrames::signal_stack(Address frame) const {
  std::array<Address, 3> words{};
  if (!memory_.read_value(frame - kStackBefore, words)) return std::nullopt;
  const auto [begin, flags, size] = words;
  if (size == 0 || (flags & SS_DISABLE) != 0) return std::nullopt;
  const Address end = begin + size;
  return SignalStack{std::max(begin, end - std::min(end, kStackLimit)), end};
}

void SignalFrames::make_void(Address frame) const {
  const Address nowhere = 0;
  memory_.write(frame + kSavedPc * sizeof(Address), &nowhere, sizeof nowhere);
}

}  // namespace refhist
