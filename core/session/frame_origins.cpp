#include "session/frame_origins.h"

#include <utility>

#include "x86/instruction.h"
#include "x86/straight_way.h"

namespace refhist {

namespace {
constexpr std::size_t kMostFrames = 16;
}

Address own_pc(const ModuleMap& modules, Address pc) {
  const Address original = modules.original(pc);
  return original != 0 ? original : pc;
}

FrameOrigins::FrameOrigins(SessionState& state, const ProgramAccess& access, const Registers& registers)
    : modules_(state.modules), tail_calls_(state.namer.tail_calls()), access_(access), innermost_(registers) {
  const auto read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, false);
  };
  Registers begin = registers;
  jumped_ = modules_.at(own_pc(modules_, registers.pc())) == nullptr;
  if (jumped_) {
    if (!access.read_word(begin.sp(), begin[kRip])) return;
    begin[kRsp] += sizeof(Address);
  }
  state.unwinder.unwind(begin, read, {kMostFrames}, raw_, &registers_);
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    const bool calls = i == 0 ? jumped_ : !raw_[i].exact;
    calls_.push_back(calls ? read_call(raw_[i], i) : std::nullopt);
  }
}

ValueOrigin::ReadWord FrameOrigins::reader() const {
  return [this](Address address, Address& word) { return access_.read_word(address, word); };
}

std::optional<FrameOrigins::Call> FrameOrigins::read_call(const RawFrame& raw, std::size_t frame) const {
  const Address return_pc = own_pc(modules_, raw.pc);
  const LoadedModule* loaded = modules_.at(return_pc);
  if (loaded == nullptr) return std::nullopt;
  StraightWay way = straight_way_through_call(loaded->module->code(), return_pc - loaded->bias);
  if (way.instructions.empty()) return std::nullopt;
  const DecodedInstruction call = way.instructions.back();
  way.instructions.pop_back();
  return Call{call, std::move(way), frame, loaded->bias};
}

std::vector<ValueOrigin> FrameOrigins::givers(std::size_t index) const {
  const std::size_t caller = index + 1;
  if (caller >= raw_.size() || raw_[caller].exact || !calls_[caller]) return {};
  const ValueOrigin call = of_call(*calls_[caller]);
  const auto frame = [this](const RawFrame& raw) {
    const Address pc = own_pc(modules_, raw.pc);
    const LoadedModule* loaded = modules_.at(pc);
    return loaded == nullptr ? StackFrame() : StackFrame{loaded->id, pc - loaded->bias, raw.exact};
  };
  const StackFrame inner = frame(raw_[index]);
  const StackFrame outer = frame(raw_[caller]);
  if (!tail_calls_.between(inner, outer)) return {call};
  const auto jump = tail_calls_.only_jump(inner, outer);
  const LoadedModule* loaded = jump ? modules_.get(jump->module) : nullptr;
  if (loaded == nullptr) return {};
  StraightWay way = straight_way_through(loaded->module->code(), jump->pc);
  if (way.instructions.empty()) return {};
  way.instructions.pop_back();
  // It has given back the registers that calls preserve before it jumped.
  return {ValueOrigin(std::move(way), loaded->bias, registers_[caller], ValueOrigin::Known::preserved,
                      reader(), [this, call, caller](unsigned reg) { return given(call, caller, reg); }),
          call};
}

// Registers that calls preserve are those of the caller; of the others only what it passes is known.
std::optional<ValueOrigin::Traced> FrameOrigins::given(const ValueOrigin& giver, std::size_t caller,
                                                       unsigned reg) const {
  if (is_preserved(reg)) return ValueOrigin::Traced{registers_[caller][reg], {}};
  return giver.of_register(reg);
}

std::optional<ValueOrigin::Traced> FrameOrigins::at_entry(std::size_t index, unsigned reg) const {
  const bool called = index + 1 < raw_.size() && !raw_[index + 1].exact;
  if (called && is_preserved(reg)) return ValueOrigin::Traced{registers_[index + 1][reg], {}};
  const std::vector<ValueOrigin> givers = this->givers(index);
  return givers.empty() ? std::nullopt : given(givers.front(), index + 1, reg);
}

ValueOrigin FrameOrigins::of_call(const Call& call) const {
  // Where control went astray, nothing has run since the call.
  const bool all = jumped_ && call.frame == 0;
  return {call.way,
          call.bias,
          registers_[call.frame],
          all ? ValueOrigin::Known::all : ValueOrigin::Known::preserved,
          reader(),
          [this, index = call.frame](unsigned reg) { return at_entry(index, reg); }};
}

std::optional<ValueOrigin> FrameOrigins::behind(bool looks_back) const {
  const Address pc = own_pc(modules_, innermost_.pc());
  const LoadedModule* loaded = modules_.at(pc);
  if (loaded == nullptr) return std::nullopt;
  StraightWay way = looks_back ? straight_way(loaded->module->code(), pc - loaded->bias) : StraightWay();
  return ValueOrigin(std::move(way), loaded->bias, innermost_, ValueOrigin::Known::all, reader(),
                     [this](unsigned reg) { return at_entry(0, reg); });
}

std::optional<ValueOrigin> FrameOrigins::here() const { return behind(true); }

std::optional<ValueOrigin> FrameOrigins::now() const { return behind(false); }

bool FrameOrigins::is_result(unsigned reg) const {
  const auto innermost = here();
  if (!innermost) return false;
  std::vector<ValueOrigin> origins{*innermost};
  for (std::size_t frame = 0; !origins.empty(); ++frame) {
    for (const ValueOrigin& origin : origins) {
      const ValueOrigin::Root root = origin.root_of_register(reg);
      if (root.by != ValueOrigin::Root::By::caller || is_preserved(root.reg))
        return root.by == ValueOrigin::Root::By::call;
      reg = root.reg;
    }
    origins = givers(frame);
  }
  return false;
}

}  // namespace refhist
