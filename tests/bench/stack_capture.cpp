// Nanoseconds per stack that the agent's walker captures, on chains of calls that repeat and on many
// different ones, beside the same calls with an empty function in the walker's place. Built without
// optimization across calls; frames are on rsp, as in Debian's libraries.
//
//     bench_stack_capture ROUNDS FRAMES,CHAINS,EVENTS,tree|random…
//
// prints "captured empty" for each kind of chains, which stacks.py makes a table of.
#include <fmt/core.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "agent/stack_walker.h"
#include "agent_tables/stack_nodes.h"
#include "agent_tables/walker_memory.h"
#include "runner/no_debugger.h"
#include "symbols/module_map.h"

using namespace refhist;

#define CALLEE __attribute__((noinline, noclone))
#define KEEP_CALL asm volatile("" ::: "memory")

namespace {

agent::WalkerShared* shared = nullptr;
agent::WalkerThread* thread = nullptr;

}  // namespace

// As a probe's stub calls the walker: at the entry of a function.
extern "C" __attribute__((visibility("hidden"), used)) agent::Captured bench_capture(std::uint64_t entry_sp,
                                                                                     std::uint64_t rbp) {
  return agent::capture(shared, thread, entry_sp, rbp, 64);
}
asm(R"(
  .text
  .globl bench_probe
  .hidden bench_probe
bench_probe:
  movq %rsp, %rdi
  movq %rbp, %rsi
  jmp bench_capture
  .globl bench_nothing
  .hidden bench_nothing
bench_nothing:
  xorl %eax, %eax
  ret
)");
extern "C" std::uint64_t bench_probe();
extern "C" std::uint64_t bench_nothing();

namespace {

using Probe = std::uint64_t (*)();

constexpr unsigned kLevels = 15;  // with a choice, in a chain of 32 frames

/// What the chain does at each level, by the bits of `choice`, from the outermost one on; at the end `probe`.
struct Chain {
  Probe probe = nullptr;
  unsigned often = 1;
};

void (*volatile next_level)(const Chain& chain, unsigned depth, std::uint64_t choice) = nullptr;

/// Functions with frames of different sizes, each with two places that call.
template <unsigned Size>
CALLEE void level(const Chain& chain, unsigned depth, std::uint64_t choice) {
  char bytes[Size];
  asm volatile("" ::"r"(bytes) : "memory");
  if ((choice & 1) != 0) {
    next_level(chain, depth - 1, choice >> 1);
    KEEP_CALL;
  } else {
    next_level(chain, depth - 1, choice >> 1);
    asm volatile("nop" ::: "memory");
  }
}

CALLEE void choose(const Chain& chain, unsigned depth, std::uint64_t choice) {
  if (depth <= 1) {
    for (unsigned i = chain.often; i > 0; --i) chain.probe();
    KEEP_CALL;
    return;
  }
  // Half of the frames are of this function.
  switch (choice & 3) {
    case 0:
      level<24>(chain, depth - 1, choice);
      break;
    case 1:
      level<72>(chain, depth - 1, choice);
      break;
    case 2:
      level<136>(chain, depth - 1, choice);
      break;
    default:
      level<328>(chain, depth - 1, choice);
      break;
  }
  KEEP_CALL;
}

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ number >> 31) * 0x9e3779b97f4a7c15ULL;
  return number ^ number >> 29;
}

/// In order, each chain shares its outer frames with the one before, as in a walk through a tree: half of
/// them differ in the innermost call only. At random, they differ from the outermost call on.
enum class Order { tree, random };

std::vector<std::uint64_t> chains(unsigned count, Order order) {
  std::vector<std::uint64_t> all;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t choice = 0;
    if (order == Order::random) {
      choice = count == 1 ? 0 : mixed(i + 1);
    } else {
      for (unsigned bit = 0; bit < kLevels; ++bit)
        choice |= std::uint64_t{i >> bit & 1} << (kLevels - 1 - bit);
    }
    all.push_back(choice);
  }
  return all;
}

/// Of this thread: what else the machine does hardly shows.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of(Probe probe, const std::vector<std::uint64_t>& choices, unsigned depth, unsigned often,
                  unsigned total) {
  const double begin = cpu_seconds();
  for (unsigned done = 0; done < total;) {
    for (const std::uint64_t choice : choices) {
      choose({probe, often}, depth, choice);
      done += often;
    }
  }
  return cpu_seconds() - begin;
}

struct Subject {
  unsigned frames = 0;
  unsigned chains = 0;
  unsigned often = 0;
  Order order = Order::tree;
};

std::optional<Subject> subject_of(const char* word) {
  Subject subject;
  char order[8] = "";
  const int read = std::sscanf(word, "%u,%u,%u,%7s", &subject.frames, &subject.chains, &subject.often, order);
  const bool random = std::strcmp(order, "random") == 0;
  if (read != 4 || subject.chains == 0 || subject.often == 0) return std::nullopt;
  if (!random && std::strcmp(order, "tree") != 0) return std::nullopt;
  subject.order = random ? Order::random : Order::tree;
  return subject;
}

/// None when a word is no subject.
std::vector<Subject> subjects_of(int argc, char** argv) {
  std::vector<Subject> subjects;
  for (int i = 2; i < argc; ++i) {
    const auto subject = subject_of(argv[i]);
    if (!subject) return {};
    subjects.push_back(*subject);
  }
  return subjects;
}

double nanoseconds(const Subject& subject, Probe probe, unsigned rounds) {
  constexpr unsigned kTotal = 200'000;
  const auto choices = chains(subject.chains, subject.order);
  std::vector<double> taken;
  for (unsigned i = 0; i <= rounds; ++i) {
    const double seconds = seconds_of(probe, choices, subject.frames, subject.often, kTotal);
    if (i > 0) taken.push_back(seconds * 1e9 / kTotal);  // the first round warms up
  }
  std::sort(taken.begin(), taken.end());
  return taken.front();  // what else the machine does can only add
}

/// Only what the module map asks for.
class OwnProcess : public NoDebugger {
 public:
  std::string_view name() const override { return "bench"; }
  ProcessInfo process() override { return {ProcessState::running, getpid(), true, ""}; }
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[1]) : 0;
  const std::vector<Subject> subjects = subjects_of(argc, argv);
  if (rounds <= 0 || subjects.empty()) {
    fmt::print(stderr, "usage: bench_stack_capture ROUNDS FRAMES,CHAINS,EVENTS,tree|random…\n");
    return 2;
  }
  next_level = choose;
  const WalkerSizes sizes;
  void* memory = mmap(nullptr, WalkerMemory::bytes(sizes), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  WalkerMemory walker(memory, sizes);
  OwnProcess process;
  ModuleMap modules;
  modules.update(process);
  std::vector<WalkerMemory::Placed> placed;
  for (const LoadedModule* loaded : modules.loaded()) {
    placed.push_back({loaded->bias, std::make_shared<const CompactCfi>(*loaded->module)});
  }
  walker.publish(placed);
  shared = walker.shared();
  thread = new agent::WalkerThread();
  for (const Subject& subject : subjects) {
    const double captured = nanoseconds(subject, bench_probe, static_cast<unsigned>(rounds));
    const double empty = nanoseconds(subject, bench_nothing, static_cast<unsigned>(rounds));
    fmt::print("{} {}\n", captured, empty);
  }
  const StackNodes nodes(walker);
  if (nodes.lost() == 0) return 0;
  fmt::print(stderr, "{} stacks lost\n", nodes.lost());
  return 1;
}
