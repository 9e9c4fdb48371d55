#include "agent_stacks_checker.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <span>

// The registers at the entry, as the core numbers them, for agent_stacks_check.
asm(R"(
  .text
  .globl agent_stacks_probe
  .hidden agent_stacks_probe
  .type agent_stacks_probe, @function
agent_stacks_probe:
  .cfi_startproc
  subq $152, %rsp
  .cfi_adjust_cfa_offset 152
  movq %rax, 0(%rsp)
  movq %rdx, 8(%rsp)
  movq %rcx, 16(%rsp)
  movq %rbx, 24(%rsp)
  movq %rsi, 32(%rsp)
  movq %rdi, 40(%rsp)
  movq %rbp, 48(%rsp)
  leaq 152(%rsp), %rax
  movq %rax, 56(%rsp)
  movq %r8, 64(%rsp)
  movq %r9, 72(%rsp)
  movq %r10, 80(%rsp)
  movq %r11, 88(%rsp)
  movq %r12, 96(%rsp)
  movq %r13, 104(%rsp)
  movq %r14, 112(%rsp)
  movq %r15, 120(%rsp)
  leaq agent_stacks_probe(%rip), %rax
  movq %rax, 128(%rsp)
  movq %rsp, %rdi
  call agent_stacks_check
  addq $152, %rsp
  .cfi_adjust_cfa_offset -152
  ret
  .cfi_endproc
  .size agent_stacks_probe, .-agent_stacks_probe
)");

namespace refhist_test {

namespace {

thread_local StackChecker* current = nullptr;

ProcessInfo this_process() { return {ProcessState::running, getpid(), true, ""}; }

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void agent_stacks_check(const Registers* registers) {
  current->check(*registers);
}

StackChecker& current_checker() { return *current; }

WalkerMappings::WalkerMappings(const WalkerSizes& sizes)
    : size_(WalkerMemory::bytes(sizes)), process_(this_process()) {
  const int file = memfd_create("refhist-test", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, static_cast<off_t>(size_)) == 0);
  program_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  debugger_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  REQUIRE(program_ != MAP_FAILED);
  REQUIRE(debugger_ != MAP_FAILED);
  memory_ = std::make_unique<WalkerMemory>(debugger_, sizes);
  publish();
}

WalkerMappings::~WalkerMappings() {
  munmap(program_, size_);
  munmap(debugger_, size_);
}

void WalkerMappings::publish(const std::vector<WalkerMemory::Placed>& more) {
  modules_.update(process_);
  std::vector<WalkerMemory::Placed> placed = more;
  for (const LoadedModule* loaded : modules_.loaded()) {
    auto& table = tables_[loaded->module->path()];
    if (table == nullptr) table = std::make_shared<const CompactCfi>(*loaded->module);
    placed.push_back({loaded->bias, table});
  }
  CHECK(memory_->publish(placed) == 0);
}

void StackCounts::add(const StackCounts& other) {
  captures += other.captures;
  mismatches += other.mismatches;
  cut_short += other.cut_short;
  coroutines += other.coroutines;
  signal_frames += other.signal_frames;
  given_up += other.given_up;
  if (first.empty()) first = other.first;
  if (first_cut.empty()) first_cut = other.first_cut;
}

StackChecker::StackChecker(WalkerMappings& mappings)
    : mappings_(mappings), process_(this_process()), unwinder_(modules_), threads_(kLevels) {
  modules_.update(process_);
}

void StackChecker::use() { current = this; }

agent::Captured StackChecker::capture(const Registers& registers) {
  return agent::capture(mappings_.program(), &threads_[static_cast<std::size_t>(level_)], registers.sp(),
                        registers[kRbp], kStackLimit);
}

void StackChecker::record(Address top) {
  top_ = top;
  recorded_count_ = recorded_size_ = 0;
  recorded_.resize(20'000);
  recorded_bytes_.resize(std::size_t{100} << 20);
}

void StackChecker::keep(const Registers& registers) {
  const std::size_t size = top_ - registers.sp();
  if (recorded_count_ == recorded_.size() || size > recorded_bytes_.size() - recorded_size_) return;
  recorded_[recorded_count_++] = {registers, capture(registers), recorded_size_};
  const char* stack = reinterpret_cast<const char*>(registers.sp());  // NOLINT: an address of this process
  std::copy(stack, stack + size, recorded_bytes_.data() + recorded_size_);
  recorded_size_ += size;
}

void StackChecker::compare_recorded() {
  const Address top = top_;
  top_ = 0;
  for (std::size_t i = 0; i < recorded_count_; ++i) {
    const Recorded& recorded = recorded_[i];
    const Address sp = recorded.registers.sp();
    compare(recorded.registers, recorded.captured, [&](Address address, void* out, std::size_t size) {
      if (address < sp || address >= top) return process_.read_some(address, out, size);
      const std::size_t count = std::min<std::size_t>(size, top - address);
      const char* bytes = recorded_bytes_.data() + recorded.at + (address - sp);
      std::copy(bytes, bytes + count, static_cast<char*>(out));
      return count;
    });
  }
}

void StackChecker::refresh() {
  modules_.update(process_);
  unwinder_.modules_changed();
}

void StackChecker::check(const Registers& registers) {
  if (top_ != 0) return keep(registers);
  const agent::Captured captured = capture(registers);
  compare(registers, captured, [this](Address address, void* out, std::size_t size) {
    return process_.read_some(address, out, size);
  });
}

void StackChecker::compare(const Registers& registers, const agent::Captured& captured,
                           const MemoryReader& read) {
  std::vector<RawFrame> mine;
  std::vector<RawFrame> theirs;
  if (captured.node == agent::kCutRoot) {
    ++counts.given_up;
    CHECK(captured.truncated);
    return;
  }
  const bool whole = mappings_.nodes().stack(captured.node, kStackLimit, mine) == StackEnd::whole;
  const bool their_whole = unwinder_.unwind(registers, read, {.limit = kStackLimit + 1}, theirs);
  theirs.erase(theirs.begin());  // the function at whose entry this is
  bool same = mine.size() == theirs.size() && mine.size() == captured.depth && whole == their_whole &&
              whole == !captured.truncated;
  for (std::size_t i = 0; same && i < mine.size(); ++i) {
    same = mine[i].pc == theirs[i].pc && mine[i].exact == theirs[i].exact;
    if (mine[i].exact) ++counts.signal_frames;
  }
  ++counts.captures;
  if (!whole && mine.size() < kStackLimit) {
    ++counts.cut_short;
    const LoadedModule* last = modules_.at(mine.back().pc);
    const bool described =
        last != nullptr && last->module->unwind_rule(mine.back().pc - 1 - last->bias) != nullptr;
    if (!described && in_coroutine) {
      ++counts.coroutines;
    } else if (counts.first_cut.empty()) {
      counts.first_cut = told(mine);
    }
  }
  if (same) return;
  if (++counts.mismatches > 1) return;
  counts.first =
      fmt::format("walker ({}): {}\nunwinder ({}): {}", whole, told(mine), their_whole, told(theirs));
}

std::string StackChecker::told(const std::vector<RawFrame>& frames) const {
  std::string text = fmt::format("{} frames, the last of them", frames.size());
  for (const RawFrame& frame : std::span(frames).last(std::min<std::size_t>(frames.size(), 12))) {
    const LoadedModule* loaded = modules_.at(frame.pc);
    const auto function =
        loaded == nullptr ? std::nullopt : loaded->module->function_at(frame.pc - loaded->bias);
    text += fmt::format(" {:#x}{}({})", frame.pc, frame.exact ? "!" : "", function ? function->name : "?");
  }
  return text;
}

}  // namespace refhist_test
