#include "session/live_pointers.h"

#include <fmt/core.h>

#include <algorithm>

#include "analysis/helper_frames.h"
#include "reachability/owner_words.h"
#include "reachability/reachability_places.h"
#include "session/reach_scans.h"

namespace refhist {

namespace {

constexpr Address kReturnAddress = 8;  // bytes, between the frame and the canonical frame address

constexpr std::size_t kMostWords = 131072;  // of a frame
constexpr Address kBelowStack = 128;        // below the stack pointer, of a function that calls nothing
constexpr Address kSmall = 8;     // bytes above an address that whoever has it may read: a variable's own,
constexpr Address kLarge = 4096;  // and those of a structure's

bool is_ours(const std::string& where) { return where.starts_with("[refhist]"); }

using Bounds = std::pair<Address, Address>;

/// The one that the address lies in; null when none. They are sorted.
const Bounds* bounds_at(const std::vector<Bounds>& all, Address address) {
  const auto behind = std::upper_bound(all.begin(), all.end(), address,
                                       [](Address at, const Bounds& bounds) { return at < bounds.first; });
  if (behind == all.begin() || address >= std::prev(behind)->second) return nullptr;
  return &*std::prev(behind);
}

/// The block of a word in a slab is the piece of it that was handed out. False when that is free.
bool narrow_to_slice(const ReachOptions& options, OwnerWord& word) {
  const bool in_slab = std::any_of(options.slabs.begin(), options.slabs.end(), [&](const Bounds& slab) {
    return word.at >= slab.first && word.at < slab.second;
  });
  if (!in_slab) return true;
  const Bounds* slice = bounds_at(options.cut, word.at);
  word.block = slice == nullptr ? AddressRange() : AddressRange{slice->first, slice->second};
  return slice != nullptr || !options.all_cut;
}

/// In the file; of the call, where one is still to return.
Address code_address(const LiveFrame& frame, const LoadedModule& loaded) {
  return frame.raw.pc - loaded.bias - (frame.raw.exact ? 0 : 1);
}

}  // namespace

bool returns_structure(SessionState& state, const NamedFrame& frame) {
  const auto signature = HelperFrames(state.modules).signature(frame);
  if (!signature || signature->result_type.ends_with('*')) return false;
  const std::string& type = signature->result_type;
  return type.starts_with("struct ") || type.find('<') != std::string::npos ||
         type.find("::") != std::string::npos;
}

bool contains(const PointedAt& ranges, Address address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [address](const AddressRange& range) { return range.contains(address); });
}

LiveStack LivePointers::stack(const ProgramAccess& access, long tid, const Registers& registers,
                              std::size_t limit) {
  const MemoryReader read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, false);
  };
  std::vector<RawFrame> frames;
  std::vector<Registers> all;
  LiveStack stack;
  stack.whole = state_.unwinder.unwind(registers, read, {limit}, frames, &all);
  Address sp = registers.sp();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Address return_pc = i + 1 < frames.size() ? frames[i + 1].pc : 0;
    stack.frames.push_back({tid, frames[i], sp, return_pc, all[i], i == 0});
    sp = frames[i].cfa;
  }
  return stack;
}

std::size_t LivePointers::will_read(const LiveFrame& frame, const LoadedModule& loaded,
                                    const PointedAt& object, const std::vector<Address>& words) {
  const auto first = frame.registers.value.begin();
  const bool in_register =
      std::any_of(first, first + kRip, [&](Address value) { return contains(object, value); });
  if (words.empty() && !in_register) return 0;  // as in most frames
  FramePlaces places;
  const Address rbp = frame.registers[kRbp];
  if (rbp >= frame.sp && rbp <= frame.raw.cfa) places.base = static_cast<std::int64_t>(rbp - frame.sp);
  const Address pc = frame.raw.pc - loaded.bias;
  const std::vector<NamedFrame>& names = state_.namer.name(stack_frame(loaded, frame.raw));
  places.result = names.empty() || !state_.namer.hands_nothing_out(names.back());
  places.two_results = !names.empty() && returns_structure(state_, names.back());
  std::size_t live = 0;
  const auto ask = [&](std::uint32_t registers, std::set<std::int64_t> slots) {
    places.registers = registers;
    places.words = std::move(slots);
    return reads_.any(loaded.module->code(), pc, places);
  };
  // Where a call is still to return, the others are the callee's.
  const bool called = !frame.innermost || frame.returned;
  std::uint32_t kept = called ? reads_.kept_by_call(loaded.module->code(), pc) : 0;
  if (frame.returned) kept |= 1U << kRax | (frame.two_results ? 1U << kRdx : 0);
  const auto is_own = [&](unsigned reg) {
    return reg != kRsp && (!called || is_preserved(reg) || (kept >> reg & 1) != 0);
  };
  for (unsigned reg = kRax; reg < kRip; ++reg) {
    if (is_own(reg) && contains(object, frame.registers[reg]) && ask(std::uint32_t{1} << reg, {})) ++live;
  }
  const std::set<Address> variables = words.empty() ? std::set<Address>() : pointer_variables(frame, loaded);
  for (const Address word : words) {
    const Address reach = variables.contains(word) || word < frame.sp ? kSmall : kLarge;
    places.reach = static_cast<std::int64_t>(reach);
    std::uint32_t leading = 0;  // registers that point at the word, or at a structure around it
    for (unsigned reg = kRax; reg < kRip; ++reg) {
      const Address value = frame.registers[reg];
      const bool leads = is_own(reg) && value <= word && word < value + reach;
      if (leads && !(reg == kRbp && places.base)) leading |= std::uint32_t{1} << reg;
    }
    if (ask(leading, {static_cast<std::int64_t>(word - frame.sp)})) ++live;
  }
  return live;
}

std::set<Address> LivePointers::pointer_variables(const LiveFrame& frame, const LoadedModule& loaded) const {
  std::set<Address> places;
  for (const LocalPointer& variable : loaded.module->code().pointers_at(code_address(frame, loaded))) {
    if (!variable.reg && !variable.at_entry)
      places.insert(frame.raw.cfa - kReturnAddress + static_cast<Address>(variable.stack));
  }
  return places;
}

std::set<std::string> LivePointers::variables(const ProgramAccess& access, const PointedAt& object,
                                              const LiveFrame& frame) const {
  std::set<std::string> names;
  const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
  if (loaded == nullptr) return names;
  for (const LocalPointer& variable : loaded->module->code().pointers_at(code_address(frame, *loaded))) {
    Address value = 0;
    const bool known =
        variable.reg ||
        access.read_word(frame.raw.cfa - kReturnAddress + static_cast<Address>(variable.stack), value);
    if (variable.reg) value = frame.registers[*variable.reg] + static_cast<Address>(variable.behind);
    if (known && contains(object, value)) names.insert(variable.name);
  }
  return names;
}

std::size_t LivePointers::in_frame(const ProgramAccess& access, const PointedAt& object,
                                   const LiveFrame& frame) {
  const Address begin = frame.sp - (frame.innermost ? kBelowStack : 0);
  const bool known = frame.raw.cfa > begin;
  const std::size_t count = known ? (frame.raw.cfa - begin) / sizeof(Address) : 0;
  if (count > kMostWords) return 1;
  std::vector<Address> words(count);
  if (access.read_memory(begin, words.data(), count * sizeof(Address), false) != count * sizeof(Address))
    return 1;
  std::vector<Address> holding;
  for (std::size_t i = 0; i < count; ++i) {
    if (contains(object, words[i])) holding.push_back(begin + i * sizeof(Address));
  }
  const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
  if (loaded != nullptr) return will_read(frame, *loaded, object, holding);
  // Code that no file has, such as our own: what it has there it may use.
  return holding.size() + static_cast<std::size_t>(std::count_if(
                              frame.registers.value.begin(), frame.registers.value.begin() + kRip,
                              [&](Address value) { return contains(object, value); }));
}

LiveCopies LivePointers::find(const ProgramAccess& access, const PointedAt& object, long tid,
                              const Registers& registers, LiveReturn returned) {
  LiveCopies found;
  const ReachOptions options = reach_options(state_);
  OwnerWords words = find_owner_words(access.port(), state_.modules, object, options);
  found.why_not_all = std::move(words.why_not_all);
  std::vector<OwnerWord> on_stacks;
  for (OwnerWord& word : words.words) {
    if (is_on_stack(word.where)) {
      if (word.at != 0) found.stacks.push_back({word.at, word.where, {}});
      on_stacks.push_back(std::move(word));
    } else if (word.at != 0 && !is_ours(word.where) && narrow_to_slice(options, word)) {
      found.memory.push_back({word.at, std::move(word.where), word.block});
    }
  }
  std::vector<ThreadInfo> threads = access.port().threads();
  std::stable_partition(threads.begin(), threads.end(),
                        [tid](const ThreadInfo& thread) { return thread.tid == tid; });
  for (const ThreadInfo& thread : threads) {
    const auto own = thread.tid == tid ? std::optional(registers) : access.registers(thread.tid);
    if (!own) {
      found.why_not_all = fmt::format("the registers of thread {} cannot be read", thread.tid);
      continue;
    }
    LiveStack stack = this->stack(access, thread.tid, *own, UnwindOptions().limit);
    if (thread.tid == tid && !stack.frames.empty()) {
      stack.frames.front().returned = returned != LiveReturn::none;
      stack.frames.front().two_results = returned == LiveReturn::structure;
    }
    for (const LiveFrame& frame : stack.frames) {
      const std::size_t live = in_frame(access, object, frame);
      found.in_frames += live;
      if (live > 0) found.frames.push_back(frame);
    }
    if (stack.whole) continue;
    const std::string where = fmt::format("stack of thread {}", thread.tid);
    const Address known = stack.frames.empty() ? 0 : stack.frames.back().raw.cfa;
    const bool beyond = std::any_of(on_stacks.begin(), on_stacks.end(), [&](const OwnerWord& word) {
      return word.where.starts_with(where) && word.at >= known;
    });
    if (beyond) found.why_not_all = where + " cannot be walked to its end";
  }
  return found;
}

}  // namespace refhist
