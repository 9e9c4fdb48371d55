// When a walk may end early: the walker that remembers its previous stack against one that remembers nothing,
// on made up stacks whose words change between the captures.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "agent_stacks_checker.h"
#include "agent_stacks_paths.h"

using namespace refhist;
using namespace refhist_test;
using agent::FrameRule;
using agent::RuleKind;
using agent::RuleRow;

namespace {

constexpr Address kCode = 0x10000;
constexpr Address kFunctionSize = 64;
constexpr Address kMaximumWords = 512;

std::uint32_t bits(RuleKind kind) { return static_cast<std::uint32_t>(kind); }
std::uint32_t plain(RuleKind kind, unsigned words, unsigned save) {
  return bits(kind) | save << 4 | words << 12;
}
std::uint32_t deref(RuleKind kind, unsigned at, unsigned words, unsigned save) {
  return bits(kind) | save << 4 | at << 12 | words << 22;
}

/// One function for each. Return addresses lie in words at multiples of 16, everything else in the words
/// between, so CFAs move by two words.
std::vector<std::uint32_t> rules() {
  using enum RuleKind;
  std::vector<std::uint32_t> all = {bits(outermost), bits(none), bits(signal), bits(plt) | 16U << 12};
  for (unsigned words : {2U, 4U, 6U}) {
    all.push_back(plain(rsp, words, FrameRule::kRbpKept));
    all.push_back(plain(rsp, words, FrameRule::kRbpKept));
    all.push_back(plain(rsp, words, 2));
    all.push_back(plain(rbp, words, 2));
    all.push_back(plain(rbp, words, FrameRule::kRbpKept));
    all.push_back(plain(rbp, words, FrameRule::kRbpAtRbp));
  }
  all.push_back(deref(deref_rsp, 0, 0, 2));
  all.push_back(deref(deref_rsp, 2, 2, FrameRule::kRbpKept));
  all.push_back(deref(deref_rbp, 0, 0, FrameRule::kRbpAtRbp));
  all.push_back(deref(deref_rbp, 2, 2, 2));
  all.push_back(bits(rsp_rbx) | 2U << 12 | 4U << 20 | 2U << 4);
  all.push_back(bits(rsp_rbx) | 2U << 12 | 2U << 20);
  all.push_back(bits(rsp_rbx) | 2U << 20);
  all.push_back(bits(rsp_rbx) | 4U << 20 | 2U << 4);
  all.push_back(bits(other) | 3U << 12 | 2U << 16);  // rbx
  return all;
}

/// A stack of random words: addresses of functions at multiples of 16, and between them pointers further out.
class MadeUpStack {
 public:
  explicit MadeUpStack(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < words_.size(); ++i) fill(i);
  }

  void fill(std::size_t i) {
    if (i % 2 == 0) {
      words_[i] = code();
    } else {
      const std::size_t further = i + 2 * (1 + random_() % 8);
      words_[i] = address(further < words_.size() ? further : i - 2 * (random_() % 4));
    }
    if (random_() % 100 == 0) words_[i] = random_() % 3 == 0 ? 0 : random_();
  }

  void set(std::size_t i, std::uint64_t value) { words_[i] = value; }
  void change() { fill(random_() % words_.size()); }
  std::uint64_t random() { return random_(); }
  Address address(std::size_t i) const { return reinterpret_cast<Address>(&words_[i]); }

 private:
  Address code() {
    const std::size_t count = rules().size();
    std::size_t function = random_() % count;
    if (function < 2 && random_() % 4 != 0) function = 4 + random_() % (count - 4);
    if (random_() % 10 == 0) function = random_() % 2 == 0 ? 2 : count - 1;  // signals, and what they know of
    return kCode + function * kFunctionSize + 1 + random_() % 3;
  }

  alignas(16) std::array<std::uint64_t, kMaximumWords> words_{};
  std::mt19937_64 random_;
};

std::shared_ptr<const CompactCfi> made_up_module() {
  std::vector<RuleRow> rows;
  Address offset = 0;
  for (const std::uint32_t rule : rules()) {
    rows.push_back({static_cast<std::uint32_t>(offset), {rule}});
    offset += kFunctionSize;
  }
  rows.push_back({static_cast<std::uint32_t>(offset), {}});
  return std::make_shared<const CompactCfi>(kCode, offset, std::move(rows));
}

struct Decoded {
  std::vector<std::pair<Address, bool>> frames;
  bool whole = false;
  bool operator==(const Decoded&) const = default;
};

}  // namespace

TEST_CASE("A walk that joins the previous stack finds what a walk without memory finds") {
  WalkerMappings mappings;
  mappings.publish({{0, made_up_module()}});
  const StackNodes nodes = mappings.nodes();
  const auto decode = [&](const agent::Captured& captured, unsigned limit) {
    Decoded decoded;
    std::vector<RawFrame> frames;
    decoded.whole = nodes.stack(captured.node, limit, frames) == StackEnd::whole;
    for (const RawFrame& frame : frames) decoded.frames.emplace_back(frame.pc, frame.exact);
    CHECK_MESSAGE(decoded.whole == !captured.truncated, "limit ", limit);
    CHECK(frames.size() == captured.depth);
    return decoded;
  };
  std::size_t mismatches = 0;
  std::size_t frames = 0;
  std::size_t signals = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    auto stack = std::make_unique<MadeUpStack>(seed);
    const auto thread = std::make_unique<agent::WalkerThread>();
    std::memset(static_cast<void*>(thread.get()), 0, sizeof *thread);
    const unsigned limit = seed % 4 == 0 ? 6 : 64;  // some stacks are too deep
    std::size_t from = 0;
    std::size_t rbp = 1;
    for (int i = 0; i < 300; ++i) {
      if (stack->random() % 4 == 0) from = 2 * (stack->random() % 12);
      if (stack->random() % 8 == 0) rbp = 1 + 2 * (stack->random() % 20);
      for (auto changes = stack->random() % 3; changes > 0; --changes) stack->change();
      const auto fresh = std::make_unique<agent::WalkerThread>();
      std::memset(static_cast<void*>(fresh.get()), 0, sizeof *fresh);
      const Address sp = stack->address(from);
      const Decoded mine =
          decode(agent::capture(mappings.program(), thread.get(), sp, stack->address(rbp), limit), limit);
      const Decoded theirs =
          decode(agent::capture(mappings.program(), fresh.get(), sp, stack->address(rbp), limit), limit);
      if (!(mine == theirs)) ++mismatches;
      frames += theirs.frames.size();
      for (const auto& [pc, exact] : theirs.frames) signals += exact ? 1 : 0;
    }
  }
  CHECK(mismatches == 0);
  CHECK(frames > 500'000);  // the stacks are no trivial ones
  CHECK(signals > 1000);
}

TEST_CASE("Registers in another signal frame are another state") {
  WalkerMappings mappings;
  mappings.publish({{0, made_up_module()}});
  const auto function = [](std::size_t number) { return kCode + number * kFunctionSize + 1; };
  const std::size_t other = rules().size() - 1;
  auto stack = std::make_unique<MadeUpStack>(1);
  // Two returns of handlers into one place with one rsp, and with two values of rbx, on which the next rule
  // hangs.
  const auto signal_frame = [&](std::size_t at, std::size_t rbx) {
    stack->set(at, function(2));
    stack->set(at + 1 + 16, stack->address(rbx));
    stack->set(at + 1 + 20, stack->address(101));
    stack->set(at + 1 + 21, function(other));
  };
  signal_frame(0, 121);
  signal_frame(40, 131);
  stack->set(122, function(0));
  stack->set(132, function(1));
  const auto thread = std::make_unique<agent::WalkerThread>();
  std::memset(static_cast<void*>(thread.get()), 0, sizeof *thread);
  for (const auto& [from, last] : {std::pair<std::size_t, std::size_t>{0, 0}, {40, 1}, {0, 0}}) {
    const auto captured = agent::capture(mappings.program(), thread.get(), stack->address(from), 0, 64);
    std::vector<RawFrame> frames;
    CHECK((mappings.nodes().stack(captured.node, 64, frames) == StackEnd::whole) == (last == 0));
    REQUIRE(frames.size() == 3);
    CHECK(frames[1].exact);
    CHECK(frames[2].pc == function(last));
  }
}

namespace {

/// A page that can be read and one behind it that cannot.
class LastPage {
 public:
  static constexpr std::size_t kPage = 4096;
  LastPage() {
    memory_ = static_cast<char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + kPage, kPage, PROT_NONE);
  }
  ~LastPage() { munmap(memory_, 2 * kPage); }
  /// The word so many words before the end.
  std::uint64_t& word(std::size_t before_end) {
    return reinterpret_cast<std::uint64_t*>(memory_ + kPage)[-static_cast<std::ptrdiff_t>(before_end)];
  }
  void open() { mprotect(memory_ + kPage, kPage, PROT_READ | PROT_WRITE); }

 private:
  char* memory_;
};

agent::Captured capture_at(WalkerMappings& mappings, agent::WalkerThread& thread, const std::uint64_t& word) {
  return agent::capture(mappings.program(), &thread, reinterpret_cast<Address>(&word), 0, 64);
}

}  // namespace

TEST_CASE("A walk ends where memory ends") {
  WalkerMappings mappings;
  mappings.publish({{0, made_up_module()}});
  const auto function = [](std::size_t number) { return kCode + number * kFunctionSize + 1; };
  const auto thread = std::make_unique<agent::WalkerThread>();
  std::memset(static_cast<void*>(thread.get()), 0, sizeof *thread);
  LastPage page;
  page.word(4) = function(4);  // CFA = rsp + 16: the next return address is two words on
  page.word(2) = function(4);
  auto captured = capture_at(mappings, *thread, page.word(4));
  CHECK(captured.depth == 2);
  CHECK(captured.truncated);
  captured = capture_at(mappings, *thread, page.word(4));  // now by the previous stack
  CHECK(captured.depth == 2);
  page.open();
  page.word(0) = function(0);
  captured = capture_at(mappings, *thread, page.word(4));
  CHECK(captured.depth == 3);
  CHECK(!captured.truncated);
  mappings.program()->no_system_calls = 1;
  std::memset(static_cast<void*>(thread.get()), 0, sizeof *thread);
  captured = capture_at(mappings, *thread, page.word(4));
  CHECK(captured.depth == 2);
  CHECK(captured.truncated);
}

TEST_CASE("When the trie is full, stacks are lost and counted, and those that have a name keep it") {
  WalkerSizes sizes;
  sizes.nodes = 50;
  WalkerMappings mappings(sizes);
  mappings.publish({{0, made_up_module()}});
  const auto thread = std::make_unique<agent::WalkerThread>();
  std::memset(static_cast<void*>(thread.get()), 0, sizeof *thread);
  std::array<std::uint64_t, 2> stack{};
  std::size_t named = 0;
  std::size_t lost = 0;
  for (int round = 0; round < 2; ++round) {
    for (Address i = 0; i < kFunctionSize + 40; ++i) {
      stack[0] = kCode + kFunctionSize + 1 + i % kFunctionSize;  // without a rule: one frame
      const auto captured = capture_at(mappings, *thread, stack[0]);
      CHECK(captured.truncated);
      std::vector<RawFrame> frames;
      CHECK(mappings.nodes().stack(captured.node, 64, frames) == StackEnd::cut);
      REQUIRE(frames.size() == captured.depth);
      lost += frames.empty() ? 1 : 0;
      if (frames.empty()) continue;
      CHECK(frames[0].pc == stack[0]);
      ++named;
    }
  }
  CHECK(named >= 2 * (sizes.nodes - agent::kRoots));
  CHECK(lost > 0);
  CHECK(mappings.nodes().lost() == lost);
  CHECK(mappings.nodes().count() == sizes.nodes);
}

TEST_CASE("What the program may have written over is not followed") {
  WalkerMappings mappings;
  auto* nodes = agent::at_offset<agent::StackNode>(mappings.program(), mappings.program()->nodes_at);
  mappings.program()->node_count = 4;
  nodes[2] = {0x1000, 3, 1};  // the two are each other's parents
  nodes[3] = {0x2000, 2, 1};
  std::vector<RawFrame> frames;
  CHECK(mappings.nodes().stack(2, 64, frames) == StackEnd::damaged);
  CHECK(frames.size() <= 64);
  CHECK(mappings.nodes().stack(4'000'000'000U, 64, frames) == StackEnd::damaged);
}

TEST_CASE("Modules come and go while another thread captures") {
  WalkerMappings mappings;
  const auto made_up = made_up_module();
  std::atomic<bool> done = false;
  StackCounts counts;
  std::thread captures([&] {
    StackChecker checker(mappings);
    checker.use();
    for (std::uint64_t seed = 1; !done || seed < 40; ++seed) {
      StackPath path(seed);
      path.signals = path.coroutines = false;
      walk_optimized(path, 30);
    }
    counts = checker.counts;
  });
  for (int i = 0; i < 3000; ++i) {
    if (i % 2 == 0) {
      mappings.publish({{0, made_up}, {0x100000, made_up_module()}});
    } else {
      mappings.publish();
    }
  }
  done = true;
  captures.join();
  INFO(counts.first);
  CHECK(counts.mismatches == 0);
  CHECK(counts.captures > 1000);
  CHECK(counts.given_up * 100 <= counts.captures);
}
